package conflict

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Base is the BTF of one base in a chain of bases.
type Base struct {
	Path string
	Blob *btf.Blob
}

// Find reports the names that have several definitions in the inputs and the bases, except names
// whose definitions are all in bases. The bases are a chain, deepest first; the order of the inputs
// doesn't matter. The Inputs can't be used afterwards.
// Rule: conflicts: report.
func (in *Inputs) Find(bases []Base) (*Report, error) {
	o := in.merger.Object()
	opt := link.Options{Features: o.Features}
	var below *btf.Blob
	if len(bases) > 0 {
		below = bases[len(bases)-1].Blob
		parsed, err := base.Parse(below)
		if err != nil {
			return nil, err
		}
		opt.Base = parsed
	}
	linked, err := link.WithUnits(o, opt)
	if err != nil {
		return nil, err
	}
	b, err := btf.Parse(linked.BTF, below)
	if err != nil {
		return nil, err
	}
	names, several := severalNames(b)
	f := finder{
		Inputs: in, o: o, bases: bases, b: b,
		held: linked.Holders(func(id uint32) bool { return several[id] }),
		defs: diff.NewDefinitions(b),
	}
	r := f.report(names)
	for u, list := range in.holders {
		for _, h := range list {
			if !linked.IsBase(u) {
				r.Units += h.units
			}
		}
	}
	return r, nil
}

type finder struct {
	*Inputs
	o     *object.Object
	bases []Base
	b     *btf.Blob        // the linked BTF
	held  map[uint32][]int // by type id of a definition: the units that hold it
	defs  *diff.Definitions
}

// severalNames finds the names that have several definitions, at least one of them not in a base.
// In the results, names maps each name to the type ids of its definitions; several is the set of
// all these ids.
func severalNames(b *btf.Blob) (names map[Name][]uint32, several map[uint32]bool) {
	names = map[Name][]uint32{}
	for id := uint32(1); id < b.EndID(); id++ {
		t, _ := b.ByID(id)
		if kind := kindName(t); kind != "" && b.TypeName(t) != "" {
			n := Name{kind, b.TypeName(t)}
			names[n] = append(names[n], id)
		}
	}
	several = map[uint32]bool{}
	for n, ids := range names {
		if len(ids) < 2 || ids[len(ids)-1] < b.StartID {
			delete(names, n)
			continue
		}
		for _, id := range ids {
			several[id] = true
		}
	}
	return names, several
}

// kindName returns the word that reports use for a definition's kind, or "" if the type isn't a
// definition. ENUM and ENUM64 are both "enum", since the link treats them as one kind of tag.
func kindName(t *btf.Type) string {
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion, btf.KindTypedef, btf.KindInt, btf.KindFloat:
		return strings.ToLower(t.Kind.String())
	case btf.KindEnum, btf.KindEnum64:
		if t.Vlen > 0 {
			return "enum"
		}
	}
	return ""
}

func (f *finder) report(names map[Name][]uint32) *Report {
	r := &Report{Schema: Schema, Files: len(f.paths), Conflicts: []Conflict{}}
	for _, name := range slices.SortedFunc(maps.Keys(names), compareNames) {
		r.Conflicts = append(r.Conflicts, f.conflict(name, names[name]))
	}
	slices.SortStableFunc(r.Conflicts, func(a, b Conflict) int {
		return cmp.Compare(min(len(a.Because), 1), min(len(b.Because), 1))
	})
	return r
}

func compareNames(a, b Name) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
}

func (f *finder) conflict(name Name, ids []uint32) Conflict {
	var list []Definition
	for _, id := range ids {
		list = append(list, f.definition(id))
	}
	slices.SortStableFunc(list, func(a, b Definition) int {
		if a.typeID < f.b.StartID || b.typeID < f.b.StartID {
			return cmp.Compare(a.typeID, b.typeID)
		}
		return cmp.Compare(b.Units, a.Units) // if equal: in id order, which depends only on content
	})
	c := Conflict{Name: name, Because: []Name{}, Definitions: list}
	own := false
	for i := range list {
		d := &list[i]
		if d.ID = letters(i); i == 0 {
			continue
		}
		d.Difference = f.difference(&list[0], d)
		switch why := d.Difference.Because; {
		case why == nil:
			own = true
		case !slices.Contains(c.Because, *why):
			c.Because = append(c.Because, *why)
		}
	}
	slices.SortFunc(c.Because, compareNames)
	if own {
		c.Because = []Name{}
	}
	return c
}

// letters returns the name of the definition with index i: A … Z, AA, AB …
func letters(i int) string {
	s := string(rune('A' + i%26))
	if i >= 26 {
		s = letters(i/26-1) + s
	}
	return s
}

func (f *finder) difference(a, b *Definition) *Difference {
	p := f.defs.Explain(a.typeID, b.typeID, [2]string{a.ID, b.ID})
	d := &Difference{Where: p.Where, What: p.What}
	if p.Through != nil {
		t, _ := f.b.ByID(p.Through[0])
		d.Because = &Name{kindName(t), f.b.TypeName(t)}
	}
	return d
}

// definition describes the definition whose type id is id: its size, and the inputs that hold it.
func (f *finder) definition(id uint32) Definition {
	t, _ := f.b.ByID(id)
	d := Definition{typeID: id, Files: []Holder{}}
	if t.Kind.HasSize() {
		d.Size = int(t.SizeOrType)
	}
	byPath := map[string]*Holder{}
	at := func(path string) *Holder {
		if byPath[path] == nil {
			byPath[path] = &Holder{Path: path, Sources: []string{}}
		}
		return byPath[path]
	}
	for _, u := range f.held[id] {
		file := string(f.o.Graph.Strs.Bytes(f.o.Units[u].File))
		for _, h := range f.holders[u] {
			x := at(f.paths[h.path])
			x.Units += h.units
			d.Units += h.units
			if file != "" {
				x.Sources = append(x.Sources, file)
			}
		}
	}
	for _, b := range f.bases {
		if id >= b.Blob.StartID && id < b.Blob.EndID() {
			at(b.Path).Base = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		x := byPath[path]
		slices.Sort(x.Sources)
		x.Sources = slices.Compact(x.Sources)
		d.Files = append(d.Files, *x)
	}
	return d
}
