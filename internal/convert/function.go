package convert

import (
	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// inlined is DW_INL_inlined: the compiler inlined a function that isn't declared inline.
const inlined = 1

// visitFunction adds a function. The result is the same whether the DWARF has one entry with code
// for the function, or an abstract origin and an out-of-line instance.
//
// A function whose entry has no code may still have a symbol: gcc folds identical functions, and
// all but one of them become aliases. A function that is declared inline and has no code in this
// unit is not a candidate: a tracer can't attach to it, and the object must not change when a
// caller starts or stops inlining it.
//
// visitFunction returns the same values as visit.
// Rule: functions: which are candidates. Source: pahole btf_encoder__encode_cu,
// btf_encoder__save_func.
func (u *unit) visitFunction(k dwarf.Head) (enter bool, next uint32, err error) {
	if k.Has(dwarf.Declaration) {
		return true, 0, nil
	}
	if !k.Has(dwarf.LowPC) && !k.Has(dwarf.Ranges) && !k.Has(dwarf.External) &&
		k.Value(dwarf.Inline).Val > inlined {
		return true, 0, nil
	}
	e := &u.c.scratch.subprogram
	if err := u.r.Read(k.Off, e); err != nil {
		return false, 0, err
	}
	switch {
	case e.Has(dwarf.LowPC) || e.Has(dwarf.Ranges):
		enter = true
		if u.c.sites != nil && u == u.c.main {
			if enter, next, err = u.visitSites(e); err != nil {
				return false, 0, err
			}
		}
		if u.c.in.opt.Want == OnlySites {
			return enter, next, nil
		}
		if err := u.addFunction(e, 0, false); err != nil {
			return false, 0, err
		}
		f, err := u.r.Function(e) // in most cases, u.r has just read it
		if err != nil {
			return false, 0, err
		}
		if f.Declares {
			return true, 0, nil
		}
		return false, f.End, nil
	case e.Has(dwarf.Origin) || e.Flag(dwarf.Declaration) || u.c.in.opt.Want == OnlySites:
	case !e.Has(dwarf.Inline) || e.Val[dwarf.Inline] <= inlined || e.Flag(dwarf.External):
		u.codeless = append(u.codeless, e.Off)
	}
	return true, 0, nil
}

// visitNameless adds the functions that have no symbol at their entry. It skips such a function if
// another function in the unit has the same name and a symbol at its entry, because the skipped
// function is then a clone or a part that isn't in the file. For an added function, the link
// decides to which function a symbol with that name belongs. The symbol may belong to the added
// function, because lld (--icf) drops the addresses of functions that it folds.
func (u *unit) visitNameless() error {
	if len(u.nameless) == 0 {
		return nil
	}
	named := make(map[types.Hash]bool)
	for _, name := range u.tagged {
		named[name] = true
	}
	for i := range u.c.current.candidates {
		named[u.c.current.candidates[i].hash] = true
	}
	e, f := &u.c.scratch.subprogram, &u.c.scratch.function
	for _, off := range u.nameless {
		if err := u.r.Read(off, e); err != nil {
			return err
		}
		if err := u.resolveFunction(e, f); err != nil {
			return err
		}
		if named[types.HashString(f.name)] {
			continue
		}
		if err := u.addFunction(e, 0, true); err != nil {
			return err
		}
	}
	return nil
}

// visitCodeless adds the functions without code, except for abstract origins of functions with
// code. It skips Rust functions, because their symbols don't have the names in the source.
// Rule: functions without code, also of Rust.
func (u *unit) visitCodeless() error {
	if u.isRust() {
		return nil
	}
	e := &u.c.scratch.subprogram
	for _, off := range u.codeless {
		if u.origins[off] {
			continue
		}
		if err := u.r.Read(off, e); err != nil {
			return err
		}
		if err := u.addFunction(e, types.FuncNoCode, false); err != nil {
			return err
		}
	}
	return nil
}

// addFunction makes e a candidate. For a function without a symbol at its entry, addFunction is
// called twice; the second time, nameless is set.
func (u *unit) addFunction(e *dwarf.DIE, flags types.FuncFlags, nameless bool) error {
	f := &u.c.scratch.function
	if err := u.resolveFunction(e, f); err != nil || len(f.name) == 0 {
		return err
	}
	var symbol mark
	if flags&types.FuncNoCode == 0 {
		if f.proto.u == u && f.proto.off != e.Off {
			u.origins[f.proto.off] = true // the abstract instance
		}
		// If the symbol at the entry has a different name, a symbol elsewhere with the function's name
		// belongs to a different function. For example, the kernel build uses objcopy to add prefixes to
		// the symbols of code that runs before or beside the kernel: __pi_, __efistub_, __kvm_nvhe_.
		// There are two exceptions, in which the link decides: a weak definition may have an alias
		// (crc32_le_base), and lose to a definition in assembly (crc32_le); and clang gives a static
		// function only the symbol of its alias, which a linked file may lack. In languages other than C,
		// symbols never have the names in the source.
		var err error
		if symbol, err = u.mark(e, f); err != nil {
			return err
		}
		f.external = f.external || symbol.global // GNU as describes weak functions as local
		switch {
		case symbol.renamed && !f.external && !symbol.alias:
			return nil
		case symbol.nameless && !nameless:
			u.nameless = append(u.nameless, e.Off)
			return nil
		}
	}
	proto, err := u.prototype(e, f)
	if err != nil {
		return err
	}
	if symbol.renamed {
		u.addRenamed(e, proto)
		if !symbol.alias || languageName(&u.r.Root) != "" {
			return nil
		}
	}
	var sig signature
	if flags&types.FuncNoCode == 0 {
		if flags, sig, err = u.judge(e, f, &symbol); err != nil {
			return err
		}
		if sig.proto != 0 {
			proto = prototype{id: sig.proto, hash: sig.hash}
		}
	}
	if f.external && flags&types.FuncNoCode == 0 && !symbol.strong {
		// Another definition of the function may replace this one: in an object file, if the symbol is
		// weak; in a linked file, if the symbol is weak or the entry no longer has a symbol.
		flags |= types.FuncWeak
	}
	node := types.Node{Kind: types.KindFunc, Aux: linkageOf(f.external), Size: uint32(flags)}
	if symbol.suffixed != "" {
		f.name = []byte(symbol.suffixed)
	}
	c := newCandidate(f.name, node, proto)
	if noted, err := f.annotated(); err != nil || !noted {
		u.c.current.candidates = append(u.c.current.candidates, c)
		return err
	}
	u.c.store.mu.Lock()
	defer u.c.store.mu.Unlock()
	id, err := u.c.addCandidate(&c)
	if err != nil {
		return err
	}
	u.c.current.add(item{id: id})
	u.tagged = append(u.tagged, c.hash)
	if err := f.proto.u.declTags(f.protoDIE, id, -1); err != nil {
		return err
	}
	return f.proto.u.parameterDeclTags(f.protoDIE, id, sig.index)
}

func (f *function) annotated() (bool, error) {
	r := &f.proto.u.r
	if !r.Annotated() {
		return false, nil
	}
	source, err := r.Function(f.protoDIE) // in most cases, r has just read it
	return err == nil && source.Annotated, err
}

// maxPending limits how many parameters of prototypes wait until the graph is locked.
const maxPending = 1 << 16

// prototype returns e's prototype, as written in the source. resolveFunction has set f.
func (u *unit) prototype(e *dwarf.DIE, f *function) (prototype, error) {
	c := u.c
	base := len(c.scratch.elems)
	d, err := f.proto.u.describeProto(f.protoDIE)
	if err != nil {
		return prototype{}, err
	}
	if d.ref.u == nil {
		d.ref = f.returns
	}
	if rest, err := u.takesMore(e, f); err != nil {
		return prototype{}, err
	} else if rest {
		c.scratch.elems = append(c.scratch.elems, elem{})
	}
	p := prototype{of: f.proto, returns: d.ref, params: c.scratch.elems[base:]}
	p.hash, err = f.proto.u.hashOf(p.describe(), 0)
	if err != nil || c.repeats == repeatMost && len(c.scratch.elems) <= maxPending {
		return p, err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	err = p.add()
	c.scratch.elems = c.scratch.elems[:base]
	return p, err
}

// takesMore reports whether e has parameters that its abstract origin lacks: clang writes the "..."
// of a prototype only in the instance. resolveFunction has set f.
func (u *unit) takesMore(e *dwarf.DIE, f *function) (bool, error) {
	if f.proto.u == u && f.proto.off == e.Off {
		return false, nil
	}
	if _, rest, err := f.proto.u.countParameters(f.protoDIE); rest || err != nil {
		return false, err
	}
	_, rest, err := u.countParameters(e)
	return rest, err
}

// addRenamed adds a function under the name of its symbol, so that the link can find out whether
// the unit was linked.
// Rule: functions whose symbol has a different name (__pi_, __kvm_nvhe_).
func (u *unit) addRenamed(e *dwarf.DIE, proto prototype) {
	addr, _, _ := u.entry(e)
	if name := u.c.in.symbols.nameAt(addr); name != "" {
		node := types.Node{Kind: types.KindFunc, Aux: types.LinkageGlobal,
			Size: uint32(types.FuncRenamed)}
		u.c.current.candidates = append(u.c.current.candidates, newCandidate([]byte(name), node, proto))
	}
}

// function holds what a subprogram entry, and the entries to which it refers, say of a function.
type function struct {
	name     []byte // empty: none
	external bool
	nocall   bool
	proto    typeRef // the entry with the parameters of the source
	protoDIE *dwarf.DIE
	returns  typeRef // the return type for a prototype that lacks one

	origin, specification dwarf.DIE // the last such entries that were read
}

// resolveFunction sets f from e, and from e's abstract origins and specifications. The prototype
// comes from the abstract origin, which has the parameters of the source. A specification (a
// declaration) adds only what e itself lacks. f is valid only as long as e is.
func (u *unit) resolveFunction(e *dwarf.DIE, f *function) (err error) {
	const nocall = 3 // DW_CC_nocall
	f.name, f.external, f.nocall, f.returns = nil, false, false, typeRef{}
	f.proto, f.protoDIE = typeRef{u, e.Off}, e
	at := u
	for range maxChain {
		if len(f.name) == 0 {
			if f.name, err = at.r.String(e, dwarf.Name); err != nil {
				return err
			}
		}
		f.external = f.external || e.Flag(dwarf.External)
		f.nocall = f.nocall || e.Has(dwarf.CallingConvention) && e.Val[dwarf.CallingConvention] == nocall
		if f.returns.u == nil {
			if f.returns, err = at.ref(e, dwarf.Type); err != nil {
				return err
			}
		}
		attr, into := dwarf.Specification, &f.specification
		if e.Has(dwarf.Origin) {
			attr, into = dwarf.Origin, &f.origin
		}
		next, err := at.ref(e, attr)
		if err != nil || next.u == nil {
			return err
		}
		at, e = next.u, into
		if err := at.r.Read(next.off, e); err != nil {
			return err
		}
		if attr == dwarf.Origin {
			f.proto, f.protoDIE = next, e
		}
	}
	return nil
}

// judge returns flags that say why the locations of e's parameters make it impossible to trace e.
// With the feature true_signature, it also returns the signature that e's code has. symbol
// describes the symbols at e's entry point.
func (u *unit) judge(e *dwarf.DIE, f *function, symbol *mark) (flags types.FuncFlags,
	sig signature, err error) {
	m := params.Machine{ID: u.c.in.d.File.Machine, Operands: u.r.Operands()}
	list, err := u.readParameters(e, f, m)
	if err != nil {
		return 0, sig, err
	}
	wanted := u.c.in.has(features.TrueSignature)
	var v params.Verdict
	if len(list) > 0 {
		v = params.Judge(m, params.Options{Clang: u.c.current.clang, NoCall: f.nocall,
			Clone:         symbol.clone,
			TrueSignature: wanted}, list)
	}
	if v.Flags.Has(params.Reordered) {
		flags |= types.FuncReordered
	}
	if v.Flags.Has(params.UnexpectedRegister) {
		flags |= types.FuncUnexpectedReg
	}
	if v.Flags.Has(params.UncertainLocation) {
		flags |= types.FuncUncertain
	}
	if v.Flags.Has(params.Optimized) && (f.nocall || symbol.clone) && !wanted {
		flags |= types.FuncOptimized
	}
	if !wanted {
		return flags, sig, nil
	}
	u.c.store.mu.Lock()
	defer u.c.store.mu.Unlock()
	clone := symbol.suffixed != "" && !symbol.part()
	if sig, err = u.trueSignature(e, f, &v, clone); clone {
		flags &^= types.FuncReordered
	}
	return flags, sig, err
}

func (u *unit) entry(e *dwarf.DIE) (addr uint64, ok bool, err error) {
	if u.c.in.symbols.load() != nil {
		return 0, false, nil // File returns the error
	}
	return u.r.FirstAddress(e)
}

func (u *unit) mark(e *dwarf.DIE, f *function) (mark, error) {
	addr, ok, err := u.entry(e)
	if !ok {
		return mark{nameless: true}, err
	}
	return u.c.in.symbols.look(addr, f.name), nil
}
