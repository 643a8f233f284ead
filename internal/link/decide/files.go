package decide

import (
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// locals records what is known about the local symbols among the facts' variables.
type locals struct {
	objects map[string]uint64 // by name: how many local objects the facts have
	// identified lists the names of the local variables that have a Definition in the facts.
	identified map[localName]bool
	hashes     map[int]types.Hash // by unit: its TypesHash
}

// localName is a local symbol's name in the source, and its source file's base name.
type localName struct{ file, name string }

func localNameOf(f *facts.Facts, o *facts.Variable) localName {
	return localName{f.Files[o.File].Name, f.SourceName(o.Name)}
}

func (l *locals) count(f *facts.Facts) {
	l.objects, l.identified = map[string]uint64{}, map[localName]bool{}
	l.hashes = map[int]types.Hash{}
	for i := range f.Vars {
		o := &f.Vars[i]
		if !o.Local {
			continue
		}
		l.objects[o.Name]++
		if o.Definition != (types.Hash{}) {
			l.identified[localNameOf(f, o)] = true
		}
	}
}

// definers returns the candidates that match the Definition of a local variable. A unit whose
// source file has the same base name must hold the candidate, and the hash of the candidate and the
// unit's types must equal the Definition.
// Rule: static variables with the same name: which file's. pahole uses the addresses in the DWARF.
func (d *decider) definers(o *facts.Variable, group []Holder) []Holder {
	if len(group) == 0 || o.Definition == (types.Hash{}) {
		return nil
	}
	return d.heldIn(d.unitsOf(o), group, func(u int, n *types.Node) bool {
		return object.VariableHash(d.shapes.Graph, *n, d.typesHash(u)) == o.Definition
	})
}

// unitsOf returns the linked units whose source file has the base name of a local symbol's file, or
// all units if the symbol table doesn't name the file.
func (d *decider) unitsOf(o *facts.Variable) []int {
	name := d.facts.Files[o.File].Name
	file, ok := d.shapes.Graph.Strs.Lookup([]byte(name))
	if !ok {
		return nil
	}
	var list []int
	for u := range d.types.Held.Units {
		if d.types.Held.Selected[u] && (name == "" || d.types.Held.Units[u].File == file) {
			list = append(list, u)
		}
	}
	return list
}

// heldIn returns those candidates in group that the units hold and for which accept returns true,
// each with its weight in these units.
func (d *decider) heldIn(units []int, group []Holder,
	accept func(u int, n *types.Node) bool) []Holder {
	name := d.types.Node(group[0].Type).Name
	held := map[Type]uint64{}
	for _, u := range units {
		for id, k := range d.types.In(u) {
			n := &d.shapes.Nodes[id]
			if d.shapes.Kinds[id] == types.KindVar && n.Name == name && accept(u, n) {
				held[k] += uint64(d.types.Held.Units[u].Count)
			}
		}
	}
	var own []Holder
	for _, h := range group {
		if h.Weight = held[h.Type]; h.Weight != 0 {
			own = append(own, h)
		}
	}
	return own
}

func (d *decider) typesHash(u int) types.Hash {
	if _, ok := d.locals.hashes[u]; !ok {
		d.locals.hashes[u] = d.types.Held.Units[u].TypesHash(d.shapes.Graph)
	}
	return d.locals.hashes[u]
}

// inFileOf selects, from several candidates for a local variable, those of the variable's source
// file. The facts have only the base names of files, so several units may have that name. Of these
// units, inFileOf takes those that share the most static functions and variables with the file;
// if several tie, those with the fewest functions and variables that the file lacks.
// Rule: static variables with the same name: which file's. If nothing else distinguishes them.
func (d *decider) inFileOf(o *facts.Variable, group []Holder) []Holder {
	if d.facts.Files[o.File].Name == "" {
		return nil
	}
	locals := map[types.Str]bool{}
	symbols.LocalNames(&d.shapes.Graph.Strs, d.facts, func(file int) bool { return file == o.File },
		func(_ int, name types.Str) { locals[name] = true })
	name := d.types.Node(group[0].Type).Name
	best, fewest := -1, 0
	var units []int
	for _, u := range d.unitsOf(o) {
		common, missing, holds := 0, 0, false
		for _, id := range d.types.Held.CandidatesOf(u) {
			n := &d.shapes.Nodes[id]
			switch {
			case n.Linkage() != types.LinkageStatic:
			case locals[n.Name]:
				common++
			case n.Kind == types.KindVar || n.FuncFlags()&types.FuncNoCode == 0:
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
	return d.heldIn(units, group, func(int, *types.Node) bool { return true })
}
