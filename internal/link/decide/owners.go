package decide

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/types"
)

// claimants returns the candidates for a function whose code is in the linked file, as far as its
// symbols tell: a global symbol is that of an external function, a local one is that of a function
// of its source file. So neither a section that the linker dropped nor a function of the same name
// elsewhere has a say. Where the file's own DWARF is converted, nothing else may tell, for the
// objects' must give the same.
func (d *decider) claimants(name types.Str, group []Holder) []Holder {
	functions, own := 0, group[:0:0]
	for i := range group {
		bits, ok := d.claims(&group[i])
		if ok {
			own = append(own, group[i])
		}
		if ok && bits&symbols.Split == 0 {
			functions++
		}
	}
	switch {
	case functions > 0 && len(own) > 1:
		return d.ofTheirFiles(own)
	case functions > 0:
		return own
	case d.symbols.Of(name)&symbols.Exact != 0:
		return nil
	}
	// Only clones have symbols, and nothing says which of the candidates are clones: the BTF that a
	// compiler wrote.
	return slices.DeleteFunc(slices.Clone(group), func(h Holder) bool {
		return d.Node(h.Type).Name != name
	})
}

// claims reports whether a candidate's symbol may be in the linked file, and what is known of it.
func (d *decider) claims(h *Holder) (symbols.Bits, bool) {
	n := d.Node(h.Type)
	bits := d.symbols.Of(n.Name)
	static := n.Aux == types.LinkageStatic && !h.FromBTF && d.facts.HasFiles
	return bits, bits&symbols.Exact != 0 &&
		(!static || bits&(symbols.ExactLocal|symbols.ExactLoose) != 0)
}

// ofTheirFiles drops the candidates of which no unit has the symbol in its source file, where
// several are of one name. If that leaves none, the symbol table knows the files by other names,
// and all stay.
func (d *decider) ofTheirFiles(own []Holder) []Holder {
	contested := false
	for i := range own {
		name := d.Node(own[i].Type).Name
		contested = contested || d.symbols.Of(name)&symbols.ExactLocal != 0 &&
			slices.ContainsFunc(own[i+1:], func(h Holder) bool { return d.Node(h.Type).Name == name })
	}
	if !contested || !d.facts.HasFiles {
		return own
	}
	weights := map[Type]uint64{}
	functions := false
	for i := range own {
		name := d.Node(own[i].Type).Name
		for in := range d.places.holders(d).Of(name) {
			if n := &d.Nodes[in.node]; d.In(in.unit, in.node) == own[i].Type && d.inFile(in.unit, n) {
				weights[own[i].Type] += uint64(d.Units[in.unit].Count)
				functions = functions || d.symbols.Of(name)&symbols.Split == 0
			}
		}
	}
	if !functions {
		return own
	}
	var left []Holder
	for _, h := range own {
		if w := weights[h.Type]; w != 0 || h.FromBTF {
			h.Weight = w
			left = append(left, h)
		}
	}
	return left
}

// inFile reports whether the symbol of a unit's function may be in the linked file.
func (d *decider) inFile(unit int, n *types.Node) bool {
	bits := d.symbols.Of(n.Name)
	return bits&symbols.ExactLoose != 0 ||
		n.Aux == types.LinkageGlobal && bits&symbols.ExactGlobal != 0 ||
		d.places.files(d)[fileSymbol{d.Units[unit].File, n.Name}]
}

// places are in which units and source files functions are. Most links don't ask.
type places struct {
	units   *survey.Lists[types.Str, unitNode] // by name
	symbols map[fileSymbol]bool
}

// unitNode is a node as a unit holds it.
type unitNode struct {
	unit int
	node types.ID
}

// fileSymbol is a function's local symbol, and the base name of its source file.
type fileSymbol struct{ file, symbol types.Str }

// holders returns the linked units that hold the functions of each name.
func (p *places) holders(d *decider) *survey.Lists[types.Str, unitNode] {
	if p.units == nil {
		l := survey.NewLists[types.Str, unitNode](d.Graph.Strs.Len(), d.Functions.Len())
		for u := range d.Units {
			if !d.Selected[u] {
				continue
			}
			for _, id := range d.Units[u].Items {
				if d.Kinds[id] == types.KindFunc {
					l.Add(d.Nodes[id].Name, unitNode{u, id})
				}
			}
		}
		p.units = &l
	}
	return p.units
}

// files returns the local symbols of functions.
func (p *places) files(d *decider) map[fileSymbol]bool {
	if p.symbols == nil {
		p.symbols = map[fileSymbol]bool{}
		for i := range d.facts.Files {
			f := &d.facts.Files[i]
			file, ok := d.Graph.Strs.Lookup([]byte(f.Name))
			if !ok || f.Name == "" {
				continue
			}
			for _, symbol := range f.Funcs {
				if s, ok := d.Graph.Strs.Lookup([]byte(symbol)); ok {
					p.symbols[fileSymbol{file, s}] = true
				}
			}
		}
	}
	return p.symbols
}

// owners returns those of the candidates to which the symbol belongs: those with code, if any have
// some (the others are copies that were inlined away; where all are without code, the symbol is an
// alias of an identical function), and of these the strong ones, if any are.
func (d *decider) owners(group []Holder) []Holder {
	return d.without(types.FuncWeak, d.without(types.FuncNoCode, group))
}

// withCopies returns the owners, and all candidates without code: copies of the function that were
// inlined, whose prototypes are compared too.
func (d *decider) withCopies(own, group []Holder) []Holder {
	all := own[:len(own):len(own)]
	for _, h := range group {
		if flags(&h)&types.FuncNoCode != 0 &&
			!slices.ContainsFunc(own, func(o Holder) bool { return o.Type == h.Type }) {
			all = append(all, h)
		}
	}
	return all
}

// without drops the candidates that have the flag, unless all have it.
func (d *decider) without(flag types.FuncFlags, group []Holder) []Holder {
	has := func(h Holder) bool { return flags(&h)&flag != 0 }
	if len(group) == 1 || !slices.ContainsFunc(group, has) {
		return group // as nearly always
	}
	if kept := slices.DeleteFunc(slices.Clone(group), has); len(kept) > 0 {
		return kept
	}
	return group
}
