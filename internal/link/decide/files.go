package decide

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// locals are the local symbols of the facts' variables.
type locals struct {
	objects map[string]uint64 // by name: how many local objects the facts have
	// identified are the names of which the facts know the definition of one.
	identified map[localName]bool
	hashes     map[int]types.Hash // by unit: its TypesHash
}

// localName is a local symbol's name in the source, and its source file's base name.
type localName struct{ file, name string }

func localNameOf(f *facts.Facts, o *facts.Object) localName {
	return localName{f.Files[o.File].Name, f.SourceName(o.Name)}
}

func (l *locals) count(f *facts.Facts) {
	l.objects, l.identified = map[string]uint64{}, map[localName]bool{}
	l.hashes = map[int]types.Hash{}
	for i := range f.Objects {
		o := &f.Objects[i]
		if !o.Local {
			continue
		}
		l.objects[o.Name]++
		if o.Definition != (types.Hash{}) {
			l.identified[localNameOf(f, o)] = true
		}
	}
}

// definers returns the candidates for a local variable that its Definition means: those of units
// of its source file's name that have just this variable and just these types. Without a
// Definition there are none.
func (d *decider) definers(o *facts.Object, group []Holder) []Holder {
	if len(group) == 0 || o.Definition == (types.Hash{}) {
		return nil
	}
	var file types.Str // 0: any
	if f := d.facts.Files[o.File].Name; f != "" {
		var ok bool
		if file, ok = d.Graph.Strs.Lookup([]byte(f)); !ok {
			return nil
		}
	}
	name := d.Node(group[0].Type).Name
	held := map[Type]uint64{}
	for u := range d.Units {
		if !d.Selected[u] || file != 0 && d.Units[u].File != file {
			continue
		}
		for _, id := range slices.Backward(d.Units[u].Items) {
			if n := &d.Nodes[id]; d.Kinds[id] == types.KindVar && n.Name == name &&
				object.VariableHash(n.Hash, d.typesHash(u)) == o.Definition {
				held[d.In(u, id)] += uint64(d.Units[u].Count)
			}
		}
	}
	return heldOf(group, held)
}

// typesHash is the TypesHash of a unit.
func (d *decider) typesHash(u int) types.Hash {
	h, ok := d.locals.hashes[u]
	if !ok {
		h = d.Units[u].TypesHash(d.Graph)
		d.locals.hashes[u] = h
	}
	return h
}

// heldOf returns the candidates that some units hold, as often as those do.
func heldOf(group []Holder, held map[Type]uint64) []Holder {
	own := group[:0:0]
	for _, h := range group {
		if w := held[h.Type]; w != 0 {
			h.Weight = w
			own = append(own, h)
		}
	}
	return own
}

// inFileOf returns those of several candidates for a local variable that units of its source file
// hold. The facts know files by their base name only, so among units of that name those win whose
// static functions and variables have most in common with the file's, and of these the ones that
// lack fewest there.
func (d *decider) inFileOf(o *facts.Object, group []Holder) []Holder {
	f := &d.facts.Files[o.File]
	file, ok := d.Graph.Strs.Lookup([]byte(f.Name))
	if !ok || file == 0 {
		return nil
	}
	locals := map[types.Str]bool{}
	add := func(name string) {
		if s, ok := d.Graph.Strs.Lookup([]byte(name)); ok {
			locals[s] = true
		}
	}
	for _, symbol := range f.Funcs {
		if base, ok := facts.BaseName(symbol); ok {
			add(base)
			add(symbol) // a candidate of this name is a clone with its true signature
		}
	}
	for i := range d.facts.Objects {
		if p := &d.facts.Objects[i]; p.File == o.File {
			add(p.Name)
		}
	}
	name := d.Node(group[0].Type).Name
	best, fewest := -1, 0
	var units []int
	for u := range d.Units {
		if !d.Selected[u] || d.Units[u].File != file {
			continue
		}
		common, missing, holds := 0, 0, false
		for n := range d.CandidatesOf(u) {
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
	held := map[Type]uint64{}
	for _, u := range units {
		for _, id := range d.Units[u].Items {
			if n := &d.Nodes[id]; n.Kind == types.KindVar && n.Name == name {
				held[d.In(u, id)] += uint64(d.Units[u].Count)
			}
		}
	}
	return heldOf(group, held)
}
