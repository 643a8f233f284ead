package link

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/params"
	"github.com/rules-btf/rules_btf/internal/types"
)

// holder is a function or variable as some units have it.
type holder struct {
	final  final
	ref    final  // its type
	weight uint64 // how many units hold it as a candidate
	size   uint32 // of a function: its flags
	linked bool   // a linked unit holds it as a result
}

// holdersNamed collects the functions or variables of a name that selected units hold. The result
// is good until the next call.
func (l *linker) holdersNamed(kind types.Kind, name types.Str) []holder {
	group := l.group[:0]
	c := &l.seen.functions
	if kind == types.KindVar {
		c = &l.seen.variables
	}
	if int(name) >= len(c.byName) {
		return nil
	}
	varies := false
	for at := c.byName[name]; at != 0; {
		c := &c.list[at-1]
		at = c.next
		switch weight := l.weight[c.node]; {
		case l.role[c.node] != plain:
			varies = true
		case weight != 0:
			linked := l.linkedWeight != nil && l.linkedWeight[c.node] != 0
			group = append(group, holder{final(c.node), l.types[c.ref], weight, c.size, linked})
		}
	}
	if varies {
		for _, i := range l.inst.held[name] {
			t := &l.inst.list[i]
			if n := &l.nodes[t.node]; n.Kind == kind {
				f := l.instFinal(i)
				group = append(group, holder{f, l.refTo(f), t.weight, n.Size, t.linked != 0})
			}
		}
	}
	l.group = group
	return group
}

// encodeFunctions makes the FUNCs.
func (l *linker) encodeFunctions() {
	l.made = make([]made, 0, len(l.seen.functions.list)+len(l.inst.list))
	l.kfuncs = map[types.Str]final{}
	if len(l.seen.declTags)+len(l.seen.sections) > 0 || l.opt.Facts == nil {
		l.encoded = make([]final, len(l.nodes)+len(l.inst.list))
	}
	renamed := func(h holder) bool { return h.flags()&types.FuncRenamed != 0 }
	if l.opt.Facts != nil && l.opt.Features.Has(features.TrueSignature) {
		l.findOwned()
	}
	for name, any := range l.seen.functions.byName {
		if any == 0 {
			continue
		}
		group := l.holdersNamed(types.KindFunc, types.Str(name))
		if slices.ContainsFunc(group, renamed) {
			group = slices.DeleteFunc(group, renamed)
		}
		if len(group) != 0 {
			l.encodeFunction(types.Str(name), group)
		}
	}
}

// encodeFunction decides on the candidates of one base name.
func (l *linker) encodeFunction(name types.Str, group []holder) {
	if l.opt.Facts == nil {
		// Results of an earlier link stay as they are.
		rest := group[:0]
		for _, h := range group {
			if h.linked {
				n := &l.nodes[l.nodeOf(h.final)]
				l.encodedAs(h.final, l.make(made{kind: types.KindFunc, name: name, aux: n.Aux, ref: h.ref}))
			} else {
				rest = append(rest, h)
			}
		}
		if len(rest) == 0 || len(rest) < len(group) {
			return
		}
		group = rest
	} else {
		if !l.linked(name) {
			return
		}
		if l.severalAddresses(name) {
			l.skip(name, params.ReasonAmbiguousAddress)
			return
		}
	}
	own := l.owners(group)
	if reason := l.against(own, group); reason != "" {
		l.skip(name, reason)
		return
	}
	proto := l.prototype(own)
	f := l.make(made{kind: types.KindFunc, name: name, aux: types.LinkageStatic, ref: proto})
	if l.opt.Facts != nil && l.symbols.bits[name]&symKfunc != 0 {
		l.kfuncs[name] = f
	}
	for i := range group {
		if group[i].ref == proto {
			l.encodedAs(group[i].final, f)
		}
	}
}

// encodedAs notes which made type is encoded for a FUNC or VAR, for what else refers to that.
func (l *linker) encodedAs(f, made final) {
	if l.encoded != nil {
		l.encoded[f] = made + 1
	}
}

// linked tells whether the linked file has the function, under this name or as a clone that has no
// candidate of its own.
func (l *linker) linked(name types.Str) bool {
	switch bits := l.symbols.bits[name]; {
	case bits&symExact != 0:
		return true
	case bits&symSuffixed != 0:
		return bits&symOwned == 0 && l.opt.Features.Has(features.OptimizedFunc)
	}
	return false
}

// severalAddresses tells whether the function has several addresses. Clones count as the function
// that they are of, unless they are encoded under their own names.
func (l *linker) severalAddresses(name types.Str) bool {
	bits := l.symbols.bits[name]
	if !l.opt.Features.Has(features.TrueSignature) || bits&symExact == 0 {
		return bits&symAmbiguous != 0
	}
	if bits&symTwice == 0 {
		return false
	}
	base, _ := facts.BaseName(l.g.Strs.String(name))
	_, several := slices.BinarySearchFunc(l.opt.Facts.Repeated, base,
		func(b facts.Base, name string) int {
			return strings.Compare(b.Name, name)
		})
	return several
}

// findOwned notes which functions have clones that are encoded under their own names.
func (l *linker) findOwned() {
	for name := range l.seen.functions.byName {
		if len(l.holdersNamed(types.KindFunc, types.Str(name))) == 0 ||
			l.symbols.bits[name]&symExact == 0 {
			continue
		}
		b := l.g.Strs.Bytes(types.Str(name))
		if i := bytes.IndexByte(b, '.'); i > 0 {
			if base, ok := l.g.Strs.Lookup(b[:i]); ok {
				l.symbols.bits[base] |= symOwned
			}
		}
	}
}

// owners returns the candidates whose the symbol is: those with code, if any have some (the others
// are copies that were inlined away; where all are without code, the symbol is an alias of an
// identical function), and of these the strong ones, if any are.
func (l *linker) owners(group []holder) []holder {
	return l.without(types.FuncWeak, l.without(types.FuncNoCode, group))
}

// without drops the candidates that have the flag, unless all have it.
func (l *linker) without(flag types.FuncFlags, group []holder) []holder {
	if len(group) == 1 {
		return group // as nearly always
	}
	with := 0
	for i := range group {
		if group[i].flags()&flag != 0 {
			with++
		}
	}
	if with == 0 || with == len(group) {
		return group
	}
	kept := make([]holder, 0, len(group)-with)
	for i := range group {
		if group[i].flags()&flag == 0 {
			kept = append(kept, group[i])
		}
	}
	return kept
}

// flags are those of a function; a result of an earlier link has none.
func (h *holder) flags() types.FuncFlags {
	if h.linked {
		return 0
	}
	return types.FuncFlags(h.size)
}

// against returns why a function can't be encoded, "" if it can. One candidate with code whose
// parameters are out of place is enough, such as a part that was split off; but a clone that lost
// parameters matters only if all owners are such. The prototypes of all candidates of the name are
// compared.
func (l *linker) against(own, group []holder) string {
	var any types.FuncFlags
	coded := l.without(types.FuncNoCode, group)
	for i := range coded {
		any |= coded[i].flags()
	}
	all := ^types.FuncFlags(0)
	for i := range own {
		all &= own[i].flags()
	}
	switch {
	case all&types.FuncOptimized != 0:
		return params.ReasonOptimized
	case any&types.FuncReordered != 0:
		return params.ReasonReordered
	case any&types.FuncUncertain != 0:
		return params.ReasonUncertainLocation
	case l.opt.Features.Has(features.ConsistentFunc) && !l.consistent(group):
		return params.ReasonInconsistentPrototype
	case any&types.FuncUnexpectedReg != 0:
		return params.ReasonUnexpectedRegister
	}
	return ""
}

// consistent tells whether the prototypes of all candidates are the same but for what looseHash
// overlooks.
func (l *linker) consistent(group []holder) bool {
	if len(group) == 1 {
		return true
	}
	shape := func(h *holder) types.ID { return l.nodes[l.nodeOf(h.final)].Ref }
	first := shape(&group[0])
	for i := range group {
		if r := shape(&group[i]); r != first && l.looseHash(r) != l.looseHash(first) {
			return false
		}
	}
	return true
}

// prototype returns the prototype that most units have, ties by content.
func (l *linker) prototype(group []holder) final {
	best := group[0].ref
	if !slices.ContainsFunc(group, func(h holder) bool { return h.ref != best }) {
		return best
	}
	weights := map[final]uint64{}
	for i := range group {
		weights[group[i].ref] += group[i].weight
	}
	for i := range group {
		p := group[i].ref
		if weights[p] > weights[best] || weights[p] == weights[best] &&
			l.content(p).Less(l.content(best)) {
			best = p
		}
	}
	return best
}

// content identifies a type that is not made.
func (l *linker) content(f final) types.Hash {
	if int(f) < len(l.nodes) {
		return l.nodes[f].Hash
	}
	return l.inst.list[int(f)-len(l.nodes)].colour
}

func (l *linker) skip(name types.Str, reason string) {
	l.skipped = append(l.skipped, Skipped{l.g.Strs.String(name), reason})
}
