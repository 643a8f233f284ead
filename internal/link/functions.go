package link

import (
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Why a function is not encoded, in the order in which the reasons are looked at.
const (
	reasonAmbiguous    = "ambiguous address"
	reasonOptimized    = "optimized parameters"
	reasonReordered    = "reordered parameters"
	reasonRegister     = "unexpected register"
	reasonUncertain    = "uncertain parameter location"
	reasonInconsistent = "inconsistent prototype"
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
	var group []holder
	for name, head := range byName {
		if head == 0 {
			continue
		}
		group = group[:0]
		for ; head != 0; head = list[head-1].next {
			group = append(group, list[head-1])
		}
		l.encodeFunction(types.Str(name), group)
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
		bits := l.symbols.bits[name]
		if bits&(symExact|symSuffixed) == 0 || bits&symExact == 0 && !l.opt.Features.Has(features.OptimizedFunc) {
			return
		}
		if bits&symAmbiguous != 0 {
			l.skip(name, reasonAmbiguous)
			return
		}
	}
	group = l.withCode(group)
	if reason := l.against(group); reason != "" {
		l.skip(name, reason)
		return
	}
	proto := l.prototype(group)
	f := l.make(made{kind: types.KindFunc, name: name, aux: types.LinkageStatic, ref: proto})
	l.funcs[name] = f + 1
	for _, h := range group {
		if l.refTo(h.final) == proto {
			l.encoded[h.final] = f + 1
		}
	}
}

// withCode drops the candidates without code, if others have some: then the symbol is theirs, and the others are copies
// that were inlined away. Where all are without code, the symbol is an alias of an identical function.
func (l *linker) withCode(group []holder) []holder {
	kept := make([]holder, 0, len(group))
	for _, h := range group {
		if h.linked || types.FuncFlags(l.nodes[l.nodeOf(h.final)].Size)&types.FuncNoCode == 0 {
			kept = append(kept, h)
		}
	}
	if len(kept) == 0 {
		return group
	}
	return kept
}

// against returns why the candidates of one function can't be encoded, "" if they can.
func (l *linker) against(group []holder) string {
	var flags types.FuncFlags
	optimized := true
	for _, h := range group {
		if n := &l.nodes[l.nodeOf(h.final)]; !h.linked {
			flags |= types.FuncFlags(n.Size)
			optimized = optimized && types.FuncFlags(n.Size)&types.FuncOptimized != 0
		} else {
			optimized = false
		}
	}
	switch {
	case optimized:
		return reasonOptimized
	case flags&types.FuncReordered != 0:
		return reasonReordered
	case flags&types.FuncUnexpectedReg != 0:
		return reasonRegister
	case flags&types.FuncUncertain != 0:
		return reasonUncertain
	}
	if len(group) == 1 || !l.opt.Features.Has(features.ConsistentFunc) {
		return ""
	}
	first := l.looseHash(l.nodes[l.nodeOf(group[0].final)].Ref)
	for _, h := range group[1:] {
		if l.looseHash(l.nodes[l.nodeOf(h.final)].Ref) != first {
			return reasonInconsistent
		}
	}
	return ""
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
