package conflict

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/diff"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/object"
)

// Inputs collects what is to be compared.
type Inputs struct {
	merger  *object.Merger
	holders [][]holding // by unit of the union
	paths   []string
}

// holding is how many units of one input are a unit of the union.
type holding struct{ path, units int }

// NewInputs returns Inputs with nothing in it.
func NewInputs() *Inputs { return &Inputs{merger: object.NewMerger()} }

// Add adds an input. After an error the Inputs must not be used.
func (in *Inputs) Add(path string, o *object.Object) error {
	at, err := in.merger.Place(path, o)
	if err != nil {
		return err
	}
	for i, u := range at {
		for len(in.holders) <= u {
			in.holders = append(in.holders, nil)
		}
		in.holders[u] = append(in.holders[u], holding{len(in.paths), int(o.Units[i].Count)})
	}
	in.paths = append(in.paths, path)
	return nil
}

// Base is one BTF of a chain of bases.
type Base struct {
	Path string
	Blob *btf.Blob
}

// Find returns the names with several definitions among the inputs and the bases; those of which a
// base alone has several are left out. The order in which the inputs were added makes no
// difference. The Inputs must not be used afterwards.
func (in *Inputs) Find(bases []Base) (*Report, error) {
	o := in.merger.Object()
	opt := link.Options{Features: o.Features}
	var base *btf.Blob
	for _, b := range bases {
		opt.Bases = append(opt.Bases, b.Blob)
		base = b.Blob
	}
	linked, err := link.Trace(o, opt)
	if err != nil {
		return nil, err
	}
	b, err := btf.Parse(linked.BTF, base)
	if err != nil {
		return nil, err
	}
	groups, several := severalNames(b)
	f := finder{
		Inputs: in, o: o, bases: bases, b: b,
		held:  linked.Holders(func(id uint32) bool { return several[id] }),
		defs:  diff.NewDefinitions(b),
		names: groups,
	}
	r := f.report()
	for u, list := range in.holders {
		for _, h := range list {
			if !linked.IsBase(u) {
				r.Units += h.units
			}
		}
	}
	return r, nil
}

// finder makes a report of a link's result.
type finder struct {
	*Inputs
	o     *object.Object
	bases []Base
	b     *btf.Blob
	held  map[uint32][]int
	defs  *diff.Definitions
	names map[Name][]uint32
}

// severalNames returns the ids of the names that have several definitions, not all of them in a
// base.
func severalNames(b *btf.Blob) (map[Name][]uint32, map[uint32]bool) {
	names := map[Name][]uint32{}
	for id := uint32(1); id < b.EndID(); id++ {
		t, _ := b.ByID(id)
		if kind := word(t); kind != "" && b.TypeName(t) != "" {
			n := Name{kind, b.TypeName(t)}
			names[n] = append(names[n], id)
		}
	}
	several := map[uint32]bool{}
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

// word is how the kind of a definition is called, "" for what is none. An enum is called so
// whatever its width, as the link takes both for one tag.
func word(t *btf.Type) string {
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

func (f *finder) report() *Report {
	r := &Report{Schema: Schema, Files: len(f.paths), Conflicts: []Conflict{}}
	for _, name := range slices.SortedFunc(maps.Keys(f.names), compareNames) {
		r.Conflicts = append(r.Conflicts, f.conflict(name, f.names[name]))
	}
	slices.SortStableFunc(r.Conflicts, func(a, b Conflict) int {
		return cmp.Compare(min(len(a.Because), 1), min(len(b.Because), 1))
	})
	return r
}

func compareNames(a, b Name) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
}

// conflict describes the definitions of a name.
func (f *finder) conflict(name Name, ids []uint32) Conflict {
	type numbered struct {
		Definition
		id uint32
	}
	var list []numbered
	for _, id := range ids {
		list = append(list, numbered{f.definition(id), id})
	}
	slices.SortStableFunc(list, func(a, b numbered) int {
		if a.id < f.b.StartID || b.id < f.b.StartID {
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(b.Units, a.Units) // else by id, an order by content
	})
	c := Conflict{Name: name, Because: []Name{}}
	own := false
	for i := range list {
		d := list[i].Definition
		if d.ID = letters(i); i > 0 {
			d.Difference = f.difference(list[0].id, list[i].id, [2]string{letters(0), d.ID})
			switch why := d.Difference.Because; {
			case why == nil:
				own = true
			case !slices.Contains(c.Because, *why):
				c.Because = append(c.Because, *why)
			}
		}
		c.Definitions = append(c.Definitions, d)
	}
	slices.SortFunc(c.Because, compareNames)
	if own {
		c.Because = []Name{}
	}
	return c
}

// letters numbers definitions: A … Z, AA, AB …
func letters(i int) string {
	s := string(rune('A' + i%26))
	if i >= 26 {
		s = letters(i/26-1) + s
	}
	return s
}

// difference says how the definition with the id b differs from that with the id a.
func (f *finder) difference(a, b uint32, names [2]string) *Difference {
	p := f.defs.Explain(a, b, names)
	d := &Difference{Where: p.Where, What: p.What}
	if p.Through != nil {
		t, _ := f.b.ByID(p.Through[0])
		d.Because = &Name{word(t), f.b.TypeName(t)}
	}
	return d
}

// definition tells the size and the holders of one definition.
func (f *finder) definition(id uint32) Definition {
	t, _ := f.b.ByID(id)
	d := Definition{}
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
	for _, x := range byPath {
		slices.Sort(x.Sources)
		x.Sources = slices.Compact(x.Sources)
		d.Files = append(d.Files, *x)
	}
	slices.SortFunc(d.Files, func(a, b Holder) int { return strings.Compare(a.Path, b.Path) })
	if d.Files == nil { // a type that no unit lists, only refers to
		d.Files = []Holder{}
	}
	return d
}
