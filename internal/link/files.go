package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// localName is a local symbol's name in the source, and its source file's base name.
type localName struct{ file, name string }

func (l *linker) localName(o *facts.Object) localName {
	return localName{l.opt.Facts.Files[o.File].Name, l.opt.Facts.SourceName(o.Name)}
}

// countLocals fills localObjects and identified.
func (l *linker) countLocals() {
	l.localObjects, l.identified = map[string]uint64{}, map[localName]bool{}
	for i := range l.opt.Facts.Objects {
		o := &l.opt.Facts.Objects[i]
		if !o.Local {
			continue
		}
		l.localObjects[o.Name]++
		if o.Definition != (types.Hash{}) {
			l.identified[l.localName(o)] = true
		}
	}
}

// definers returns the candidates for a local variable that its Definition means: those of units
// of its source file's name that have just this variable and just these types. Without a
// Definition there are none.
func (l *linker) definers(o *facts.Object, group []holder) []holder {
	if len(group) == 0 || o.Definition == (types.Hash{}) {
		return nil
	}
	var file types.Str // 0: any
	if f := l.opt.Facts.Files[o.File].Name; f != "" {
		var ok bool
		if file, ok = l.g.Strs.Lookup([]byte(f)); !ok {
			return nil
		}
	}
	name := l.nodes[l.nodeOf(group[0].final)].Name
	held := map[final]uint64{}
	for u := range l.units {
		if !l.selected[u] || file != 0 && l.units[u].File != file {
			continue
		}
		for _, id := range slices.Backward(l.units[u].Items) {
			if n := &l.nodes[id]; l.seen.kinds[id] == types.KindVar && n.Name == name &&
				object.VariableHash(n.Hash, l.typesHash(u)) == o.Definition {
				held[l.typeIn(u, id)] += uint64(l.units[u].Count)
			}
		}
	}
	return heldOf(group, held)
}

// typesHash is the TypesHash of a unit.
func (l *linker) typesHash(u int) types.Hash {
	h, ok := l.typesHashes[u]
	if !ok {
		if l.typesHashes == nil {
			l.typesHashes = map[int]types.Hash{}
		}
		h = l.units[u].TypesHash(l.g)
		l.typesHashes[u] = h
	}
	return h
}

// heldOf returns the candidates that some units hold, as often as those do.
func heldOf(group []holder, held map[final]uint64) []holder {
	own := group[:0:0]
	for _, h := range group {
		if w := held[h.final]; w != 0 {
			h.weight = w
			own = append(own, h)
		}
	}
	return own
}

// inFileOf returns those of several candidates for a local variable that units of its source file
// hold. The facts know files by their base name only, so among units of that name those win whose
// static functions and variables have most in common with the file's, and of these the ones that
// lack fewest there.
func (l *linker) inFileOf(o *facts.Object, group []holder) []holder {
	f := &l.opt.Facts.Files[o.File]
	file, ok := l.g.Strs.Lookup([]byte(f.Name))
	if !ok || file == 0 {
		return nil
	}
	locals := map[types.Str]bool{}
	add := func(name string) {
		if s, ok := l.g.Strs.Lookup([]byte(name)); ok {
			locals[s] = true
		}
	}
	for _, symbol := range f.Funcs {
		if base, ok := facts.BaseName(symbol); ok {
			add(base)
			add(symbol) // a candidate of this name is a clone with its true signature
		}
	}
	for i := range l.opt.Facts.Objects {
		if p := &l.opt.Facts.Objects[i]; p.File == o.File {
			add(p.Name)
		}
	}
	name := l.nodes[l.nodeOf(group[0].final)].Name
	best, fewest := -1, 0
	var units []int
	for u := range l.units {
		if !l.selected[u] || l.units[u].File != file {
			continue
		}
		common, missing, holds := 0, 0, false
		for n := range l.candidates(u) {
			switch {
			case n.Aux != types.LinkageStatic:
			case locals[n.Name]:
				common++
			case n.Kind == types.KindVar || types.FuncFlags(n.Size)&types.FuncNoCode == 0:
				missing++
			}
			holds = holds || n.Kind == types.KindVar && n.Name == name
		}
		if !holds || common < best || common == best && missing > fewest {
			continue
		}
		if common > best || missing < fewest {
			units, best, fewest = units[:0], common, missing
		}
		units = append(units, u)
	}
	held := map[final]uint64{}
	for _, u := range units {
		for _, id := range l.units[u].Items {
			if n := &l.nodes[id]; n.Kind == types.KindVar && n.Name == name {
				held[l.typeIn(u, id)] += uint64(l.units[u].Count)
			}
		}
	}
	return heldOf(group, held)
}

// typeIn returns the type that a function or variable candidate is in a unit.
func (l *linker) typeIn(u int, id types.ID) final {
	if l.role[id] == plain {
		return final(id)
	}
	v := l.view()
	l.enterPhase(v, l.settled, l.worldOf[u])
	return l.instFinal(l.instanceIn(v, id))
}

func (l *linker) instFinal(i uint32) final { return final(uint32(len(l.nodes)) + i) }
