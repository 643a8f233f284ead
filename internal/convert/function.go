package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/params"
	"github.com/rules-btf/rules_btf/internal/types"
)

// inlined is DW_INL_inlined: by the compiler's choice, not declared inline.
const inlined = 1

// visitFunction takes a function. An entry with code of its own and a pair of abstract origin and out-of-line instance
// read the same.
//
// A function without code may have a symbol all the same: gcc folds identical functions, of which all but one become
// aliases. Functions declared inline that have no code here are no candidates: a tracer can't attach to them, and their
// coming and going with the bodies that call them must not show.
func (u *unit) visitFunction(e *dwarf.DIE) error {
	switch {
	case e.Has(dwarf.LowPC) || e.Has(dwarf.Ranges):
		return u.addFunction(e, 0)
	case e.Has(dwarf.Origin) || e.Flag(dwarf.Declaration):
		return nil
	case !e.Has(dwarf.Inline) || e.Val[dwarf.Inline] <= inlined || e.Flag(dwarf.External):
		u.codeless = append(u.codeless, e.Off)
	}
	return nil
}

// visitCodeless takes the functions without code that are not the abstract origin of one with code.
func (u *unit) visitCodeless() error {
	e := &u.c.top
	for _, off := range u.codeless {
		if u.origins[off] {
			continue
		}
		if err := u.r.Read(off, e); err != nil {
			return err
		}
		if err := u.addFunction(e, types.FuncNoCode); err != nil {
			return err
		}
	}
	return nil
}

// addFunction makes e a candidate.
func (u *unit) addFunction(e *dwarf.DIE, flags types.FuncFlags) error {
	f, err := u.resolveFunction(e)
	if err != nil || f.name.class == dwarf.ClassNone {
		return err
	}
	renamed := false
	if flags&types.FuncNoCode == 0 {
		u.noteOrigin(e, &f)
		if renamed = u.isRenamed(e, &f); renamed && !f.external {
			return nil
		}
	}
	base := len(u.c.elems)
	d, err := f.proto.u.describeProto(&f.protoDIE)
	if err != nil {
		return err
	}
	if d.ref.u == nil {
		d.ref = f.returns
	}
	h, err := f.proto.u.hashOf(&d, f.proto.off, 0)
	if err != nil {
		return err
	}
	proto := u.c.g.Find(h)
	if proto == 0 {
		if proto, err = f.proto.u.buildOf(&d, f.proto.off, 0); err != nil {
			return err
		}
	}
	u.c.elems = u.c.elems[:base]
	if renamed {
		return u.addRenamed(e, proto)
	}
	var sig signature
	if flags&types.FuncNoCode == 0 {
		var v params.Verdict
		if flags, v, err = u.judge(e, &f); err != nil {
			return err
		}
		if u.c.opt.Features.Has(features.TrueSignature) {
			if sig, err = u.trueSignature(e, &f, &v); err != nil {
				return err
			}
			flags &^= types.FuncOptimized
			if sig.symbol != "" {
				flags &^= types.FuncReordered
			}
			if sig.proto != 0 {
				proto = sig.proto
			}
		}
	}
	if f.external && flags&types.FuncNoCode == 0 && u.isWeak(e) {
		flags |= types.FuncWeak
	}
	str, err := f.namer.intern(f.name)
	if err != nil {
		return err
	}
	if sig.symbol != "" {
		str = u.c.g.Strs.Intern([]byte(sig.symbol))
	}
	linkage := types.LinkageStatic
	if f.external {
		linkage = types.LinkageGlobal
	}
	id := u.c.g.Add(types.Node{Kind: types.KindFunc, Name: str, Ref: proto, Aux: linkage, Size: uint32(flags)}, nil)
	u.c.item(id, 0)
	if f.proto.u.r.Annotated() {
		if err := f.proto.u.declTags(&f.protoDIE, id, -1); err != nil {
			return err
		}
		return f.proto.u.elemDeclTags(&f.protoDIE, std.TagFormalParameter, id, sig.index)
	}
	return nil
}

// noteOrigin notes that the abstract instance of e has code.
func (u *unit) noteOrigin(e *dwarf.DIE, f *function) {
	if f.proto.u != u || f.proto.off == e.Off {
		return
	}
	if u.origins == nil {
		u.origins = make(map[uint32]bool)
	}
	u.origins[f.proto.off] = true
}

// isRenamed tells whether e's own symbol has another name, so that no symbol of its name stands for it. The kernel
// puts prefixes before the names of code that runs before or beside it, by objcopy: __pi_, __efistub_, __kvm_nvhe_.
func (u *unit) isRenamed(e *dwarf.DIE, f *function) bool {
	addr, ok := u.entry(e)
	return ok && u.c.symbols.isRenamed(addr, f.name.hash)
}

// addRenamed takes a function under the name of its symbol, which tells whether the unit was linked.
func (u *unit) addRenamed(e *dwarf.DIE, proto types.ID) error {
	addr, _ := u.entry(e)
	name := u.c.symbols.nameAt(addr)
	if name == "" {
		return nil
	}
	u.c.item(u.c.g.Add(types.Node{
		Kind: types.KindFunc, Name: u.c.g.Strs.Intern([]byte(name)), Ref: proto, Aux: types.LinkageGlobal, Size: uint32(types.FuncRenamed),
	}, nil), 0)
	return nil
}

// function is what a subprogram entry and those that it refers to say together.
type function struct {
	name     name
	namer    *unit // the unit that name is read in
	external bool
	nocall   bool
	proto    typeRef // the entry whose parameters are the source's
	protoDIE dwarf.DIE
	returns  typeRef // for an entry without a return type of its own
}

// resolveFunction follows abstract origins and specifications. The prototype is that of the abstract origin, which has
// the parameters as written in the source; of a specification (a declaration) only what the entry itself lacks is taken.
func (u *unit) resolveFunction(e *dwarf.DIE) (f function, err error) {
	const nocall = 3 // DW_CC_nocall
	cur, at := *e, u
	f.proto, f.protoDIE = typeRef{u, e.Off}, *e
	for range maxChain {
		if f.name.class == dwarf.ClassNone {
			if f.name, err = at.name(&cur, dwarf.Name); err != nil {
				return f, err
			}
			f.namer = at
		}
		f.external = f.external || cur.Flag(dwarf.External)
		f.nocall = f.nocall || cur.Has(dwarf.CallingConvention) && cur.Val[dwarf.CallingConvention] == nocall
		if f.returns.u == nil {
			if f.returns, err = at.ref(&cur, dwarf.Type); err != nil {
				return f, err
			}
		}
		origin := cur.Has(dwarf.Origin)
		slot := dwarf.Specification
		if origin {
			slot = dwarf.Origin
		}
		next, err := at.ref(&cur, slot)
		if err != nil || next.u == nil {
			return f, err
		}
		at = next.u
		if err := at.r.Read(next.off, &cur); err != nil {
			return f, err
		}
		if origin {
			f.proto, f.protoDIE = next, cur
		}
	}
	return f, nil
}

// judge tells what the locations of e's parameters say against tracing it.
func (u *unit) judge(e *dwarf.DIE, f *function) (types.FuncFlags, params.Verdict, error) {
	list, err := u.parameters(e, f)
	if err != nil || len(list) == 0 {
		return 0, params.Verdict{}, err
	}
	clone := u.isClone(e, f)
	m := params.Machine{ID: u.c.d.File.Machine, AddrSize: int(u.r.Unit.AddrSize), DWARF64: u.r.Unit.Dwarf64}
	o := params.Options{Clang: u.c.clang, NoCall: f.nocall, Clone: clone, TrueSignature: u.c.opt.Features.Has(features.TrueSignature)}
	v := params.Judge(m, o, list)
	var flags types.FuncFlags
	if v.Flags.Has(params.Reordered) {
		flags |= types.FuncReordered
	}
	if v.Flags.Has(params.UnexpectedRegister) {
		flags |= types.FuncUnexpectedReg
	}
	if v.Flags.Has(params.UncertainLocation) {
		flags |= types.FuncUncertain
	}
	if v.Flags.Has(params.Optimized) && (f.nocall || clone) {
		flags |= types.FuncOptimized
	}
	return flags, v, nil
}

// entry is where e's code starts.
func (u *unit) entry(e *dwarf.DIE) (uint64, bool) {
	if u.c.symbols.load() != nil {
		return 0, false // File returns the error
	}
	return u.r.FirstAddress(e)
}

// isClone tells whether the symbol at the function's own entry is a clone with a changed interface.
func (u *unit) isClone(e *dwarf.DIE, f *function) bool {
	addr, ok := u.entry(e)
	return ok && u.c.symbols.isClone(addr, f.name.hash)
}

// isWeak tells whether another definition of the function goes before this one: in an object file, if its symbol is
// weak; in a linked file also if there is no symbol at its entry any more, for then it has lost to another.
func (u *unit) isWeak(e *dwarf.DIE) bool {
	addr, ok := u.entry(e)
	return !ok || !u.c.symbols.isStrong(addr)
}

// maxParameters is the number of parameters from which on a function is not judged. No compiler gets there.
const maxParameters = 1000

// parameters reads e's own formal parameters.
func (u *unit) parameters(e *dwarf.DIE, f *function) ([]params.Param, error) {
	own, err := u.r.Parameters(e)
	if err != nil {
		return nil, err
	}
	u.c.locations = u.c.locations[:0]
	list := u.c.params[:0]
	origins := u.c.origins[:0]
	refs := u.c.refs[:0]
	c := &u.c.note
	for _, k := range own {
		if k.Abbrev.Tag != std.TagFormalParameter {
			continue
		}
		if err := u.r.Read(k.Off, c); err != nil {
			return nil, err
		}
		p := params.Param{HasLocation: c.Has(dwarf.Location), ConstValue: c.Has(dwarf.ConstValue), OriginIndex: params.NoOrigin}
		if p.HasLocation {
			start := len(u.c.locations)
			var err error
			if u.c.locations, err = u.r.Locations(c, dwarf.Location, u.c.locations); err != nil {
				return nil, err
			}
			p.Locations = u.c.locations[start:len(u.c.locations):len(u.c.locations)]
		}
		t, err := u.ref(c, dwarf.Type)
		if err != nil {
			return nil, err
		}
		origin, err := u.ref(c, dwarf.Origin)
		if err != nil {
			return nil, err
		}
		list, origins, refs = append(list, p), append(origins, origin), append(refs, t)
	}
	u.c.params, u.c.origins, u.c.refs = list, origins, refs
	if len(list) > maxParameters {
		return nil, nil
	}
	return list, u.completeParameters(e, list, origins, refs, f)
}

// completeParameters adds what only the types and the abstract origin's parameters tell.
func (u *unit) completeParameters(e *dwarf.DIE, list []params.Param, origins, refs []typeRef, f *function) error {
	index := 0
	p := f.proto.u
	if f.proto.off != e.Off || p != u {
		source, err := p.r.Parameters(&f.protoDIE)
		if err != nil {
			return err
		}
		for _, k := range source {
			if k.Abbrev.Tag == std.TagFormalParameter {
				if err := p.matchOrigin(k, index, list, origins, refs); err != nil {
					return err
				}
				index++
			}
		}
	}
	for i, t := range refs {
		if err := t.classify(&list[i]); err != nil {
			return err
		}
		if f.nocall && list[i].Struct && u.c.opt.Features.Has(features.TrueSignature) {
			list[i].MemberAt = func(offset uint32) bool {
				at, _, err := t.memberAt(offset)
				return err == nil && at.u != nil
			}
		}
	}
	return nil
}

// matchOrigin notes for the parameters whose abstract origin k is that it is number index, and its type.
func (u *unit) matchOrigin(k dwarf.Peeked, index int, list []params.Param, origins, refs []typeRef) error {
	c := &u.c.note
	for i := range origins {
		if origins[i].u != u || origins[i].off != k.Off {
			continue
		}
		list[i].OriginIndex = index
		if refs[i].u != nil {
			continue
		}
		if err := u.r.Read(k.Off, c); err != nil {
			return err
		}
		var err error
		if refs[i], err = u.ref(c, dwarf.Type); err != nil {
			return err
		}
	}
	return nil
}

// classify fills in what the parameter's type tells.
func (t typeRef) classify(p *params.Param) error {
	if t.u == nil {
		return nil
	}
	e, err := t.u.r.Peek(t.off)
	if err != nil {
		return err
	}
	if e.Abbrev != nil && e.Abbrev.Tag == std.TagPointerType {
		p.Size = uint32(t.u.r.Unit.AddrSize)
		return nil
	}
	size, err := t.size(0)
	if err != nil {
		return err
	}
	p.Size = uint32(min(size, 1<<32-1))
	p.Struct, p.PackedStruct, err = t.byValueStruct()
	return err
}

// byValueStruct tells whether the type is a struct, seen through typedefs and qualifiers, and whether that is a named
// one in which a member lies where its alignment forbids.
func (t typeRef) byValueStruct() (is, packed bool, err error) {
	var e dwarf.DIE
	for range maxChain {
		if t.u == nil {
			return false, false, nil
		}
		if err := t.u.r.Read(t.off, &e); err != nil {
			return false, false, err
		}
		switch e.Tag {
		case std.TagTypedef, std.TagConstType, std.TagVolatileType, std.TagAtomicType:
			if t, err = t.u.ref(&e, dwarf.Type); err != nil {
				return false, false, err
			}
			continue
		case std.TagStructType, std.TagClassType:
			packed, err := t.u.packed(&e)
			return true, packed && e.Has(dwarf.Name), err
		}
		return false, false, nil
	}
	return false, false, nil
}

// packed tells whether a member of the struct lies at an offset that is no multiple of its size's natural alignment.
func (u *unit) packed(e *dwarf.DIE) (bool, error) {
	if !e.Children {
		return false, nil
	}
	var c dwarf.DIE
	for off := e.Next; ; {
		if err := u.r.Read(off, &c); err != nil {
			return false, err
		}
		if c.Null {
			return false, nil
		}
		if c.Tag == std.TagMember && c.Constant(dwarf.MemberLocation) && !c.Has(dwarf.BitSize) {
			t, err := u.ref(&c, dwarf.Type)
			if err != nil {
				return false, err
			}
			align, err := t.alignment(0)
			if err != nil {
				return false, err
			}
			if c.Val[dwarf.MemberLocation]%align != 0 {
				return true, nil
			}
		}
		var err error
		if off, err = u.r.SkipChildren(&c); err != nil {
			return false, err
		}
	}
}

// alignment is the natural alignment of scalars and arrays of them; 1 for the rest.
func (t typeRef) alignment(depth int) (uint64, error) {
	if t.u == nil || depth > maxChain {
		return 1, nil
	}
	var e dwarf.DIE
	if err := t.u.r.Read(t.off, &e); err != nil {
		return 1, err
	}
	switch e.Tag {
	case std.TagBaseType, std.TagPointerType, std.TagEnumerationType:
		n, err := t.size(0)
		if n == 0 || n&(n-1) != 0 {
			n = 1
		}
		return n, err
	case std.TagTypedef, std.TagConstType, std.TagVolatileType, std.TagArrayType:
		r, err := t.u.ref(&e, dwarf.Type)
		if err != nil {
			return 1, err
		}
		return r.alignment(depth + 1)
	}
	return 1, nil
}
