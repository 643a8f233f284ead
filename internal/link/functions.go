package link

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Why a function is not encoded, in the order in which the reasons are looked at.
const (
	reasonAmbiguous    = "ambiguous address"
	reasonOptimized    = "optimized parameters"
	reasonReordered    = "reordered parameters"
	reasonUncertain    = "uncertain parameter location"
	reasonInconsistent = "inconsistent prototype"
	reasonRegister     = "unexpected register"
)

// holder is a function or variable as some units have it.
type holder struct {
	final  final
	weight uint64 // how many units hold it as a candidate
	linked bool   // a linked unit holds it as a result
	next   int32  // the next one of this name + 1
}

// holders collects the functions or variables that selected units hold, as lists by name.
func (l *linker) holdersOf(kind types.Kind) (list []holder, byName []int32) {
	byName = make([]int32, l.g.Strs.Len())
	add := func(f final, weight, linked uint64) {
		name := l.nodes[l.nodeOf(f)].Name
		list = append(list, holder{f, weight, linked != 0, byName[name]})
		byName[name] = int32(len(list))
	}
	for id := range l.nodes {
		if l.nodes[id].Kind != kind || l.weight[id] == 0 || l.role[id] != plain {
			continue
		}
		var linked uint64
		if l.linkedWeight != nil {
			linked = l.linkedWeight[id]
		}
		add(final(id), l.weight[id], linked)
	}
	for i := range l.inst.list {
		t := &l.inst.list[i]
		if t.weight != 0 && l.nodes[t.node].Kind == kind {
			add(final(len(l.nodes)+i), t.weight, t.linked)
		}
	}
	return list, byName
}

// encodeFunctions makes the FUNCs.
func (l *linker) encodeFunctions() {
	list, byName := l.holdersOf(types.KindFunc)
	l.funcs = make([]final, l.g.Strs.Len())
	l.encoded = make([]final, len(l.nodes)+len(l.inst.list))
	l.made = make([]made, 0, len(list))
	if l.opt.Facts != nil && l.opt.Features.Has(features.TrueSignature) {
		l.findOwned(byName)
	}
	var group []holder
	for name, head := range byName {
		group = group[:0]
		for ; head != 0; head = list[head-1].next {
			if h := list[head-1]; l.flags(h)&types.FuncRenamed == 0 {
				group = append(group, h)
			}
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
				l.encoded[h.final] = l.make(made{kind: types.KindFunc, name: name, aux: n.Aux, ref: l.refTo(h.final)}) + 1
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
			l.skip(name, reasonAmbiguous)
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
	l.funcs[name] = f + 1
	for _, h := range group {
		if l.refTo(h.final) == proto {
			l.encoded[h.final] = f + 1
		}
	}
}

// linked tells whether the linked file has the function, under this name or as a clone that has no candidate of its own.
func (l *linker) linked(name types.Str) bool {
	switch bits := l.symbols.bits[name]; {
	case bits&symExact != 0:
		return true
	case bits&symSuffixed != 0:
		return bits&symOwned == 0 && l.opt.Features.Has(features.OptimizedFunc)
	}
	return false
}

// severalAddresses tells whether the function has several addresses. Clones count as the function that they are of, unless they
// are encoded under their own names.
func (l *linker) severalAddresses(name types.Str) bool {
	bits := l.symbols.bits[name]
	if !l.opt.Features.Has(features.TrueSignature) || bits&symExact == 0 {
		return bits&symAmbiguous != 0
	}
	if bits&symTwice == 0 {
		return false
	}
	base, _ := facts.BaseName(l.g.Strs.String(name))
	_, several := slices.BinarySearchFunc(l.opt.Facts.Repeated, base, func(b facts.Base, name string) int {
		return strings.Compare(b.Name, name)
	})
	return several
}

// findOwned notes which functions have clones that are encoded under their own names.
func (l *linker) findOwned(byName []int32) {
	for name, head := range byName {
		if head == 0 || l.symbols.bits[name]&symExact == 0 {
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

// owners returns the candidates whose the symbol is: those with code, if any have some (the others are copies that were
// inlined away; where all are without code, the symbol is an alias of an identical function), and of these the strong
// ones, if any are.
func (l *linker) owners(group []holder) []holder {
	return l.without(types.FuncWeak, l.without(types.FuncNoCode, group))
}

// without drops the candidates that have the flag, unless all have it.
func (l *linker) without(flag types.FuncFlags, group []holder) []holder {
	kept := make([]holder, 0, len(group))
	for _, h := range group {
		if l.flags(h)&flag == 0 {
			kept = append(kept, h)
		}
	}
	if len(kept) == 0 {
		return group
	}
	return kept
}

// flags are those of a candidate; a result of an earlier link has none.
func (l *linker) flags(h holder) types.FuncFlags {
	if h.linked {
		return 0
	}
	return types.FuncFlags(l.nodes[l.nodeOf(h.final)].Size)
}

// against returns why a function can't be encoded, "" if it can. One candidate with code whose parameters are out of
// place is enough, such as a part that was split off; but a clone that lost parameters matters only if all owners are
// such. The prototypes of all candidates of the name are compared.
func (l *linker) against(own, group []holder) string {
	var any types.FuncFlags
	for _, h := range l.without(types.FuncNoCode, group) {
		any |= l.flags(h)
	}
	all := ^types.FuncFlags(0)
	for _, h := range own {
		all &= l.flags(h)
	}
	switch {
	case all&types.FuncOptimized != 0:
		return reasonOptimized
	case any&types.FuncReordered != 0:
		return reasonReordered
	case any&types.FuncUncertain != 0:
		return reasonUncertain
	case l.opt.Features.Has(features.ConsistentFunc) && !l.consistent(group):
		return reasonInconsistent
	case any&types.FuncUnexpectedReg != 0:
		return reasonRegister
	}
	return ""
}

// consistent tells whether the prototypes of all candidates are the same but for what looseHash overlooks.
func (l *linker) consistent(group []holder) bool {
	if len(group) == 1 {
		return true
	}
	first := l.looseHash(l.nodes[l.nodeOf(group[0].final)].Ref)
	for _, h := range group[1:] {
		if l.looseHash(l.nodes[l.nodeOf(h.final)].Ref) != first {
			return false
		}
	}
	return true
}

// prototype returns the prototype that most units have, ties by content.
func (l *linker) prototype(group []holder) final {
	best := l.refTo(group[0].final)
	if len(group) == 1 {
		return best
	}
	weights := map[final]uint64{}
	for _, h := range group {
		weights[l.refTo(h.final)] += h.weight
	}
	for _, h := range group[1:] {
		p := l.refTo(h.final)
		if weights[p] > weights[best] || weights[p] == weights[best] && l.content(p).Less(l.content(best)) {
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
