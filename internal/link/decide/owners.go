package decide

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// claimants returns the candidates for a function whose code is in the linked file, as far as its
// symbols show: a global symbol is an external function's, and a local symbol is that of a function
// of its source file. So sections that the linker dropped and functions of the same name elsewhere
// don't count. The DWARF of the linked file must not be used for more than that, because the
// objects' DWARF must give the same result.
func (d *decider) claimants(name types.Str, group []Holder) []Holder {
	own := group
	if slices.ContainsFunc(group, d.isForeign) {
		own = slices.DeleteFunc(slices.Clone(group), d.isForeign)
	}
	functions := slices.ContainsFunc(own, func(h Holder) bool {
		return d.symbols.Of(d.Node(h.Type).Name)&symbols.Split == 0
	})
	switch {
	case functions && len(own) > 1:
		return d.ofTheirFiles(own)
	case functions:
		return own
	case d.symbols.Of(name)&symbols.Exact != 0:
		return nil
	}
	// Only clones have symbols, and it is unknown which of the candidates are clones: they are from a
	// compiler's BTF.
	return slices.DeleteFunc(slices.Clone(group), func(h Holder) bool {
		return d.Node(h.Type).Name != name
	})
}

// isForeign reports whether none of the linked file's symbols can be a candidate's.
func (d *decider) isForeign(h Holder) bool {
	n := d.Node(h.Type)
	bits := d.symbols.Of(n.Name)
	static := n.Aux == types.LinkageStatic && !h.FromBTF && d.facts.HasFiles
	return bits&symbols.Exact == 0 ||
		static && bits&(symbols.ExactLocal|symbols.ExactLoose) == 0
}

// ofTheirFiles selects from several candidates of one name those for which a unit has the symbol in
// its source file. If there are none, the symbol table has other names for the files, and all
// candidates stay.
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
	seen := map[types.Str]bool{}
	for i := range own {
		name := d.Node(own[i].Type).Name
		if seen[name] {
			continue
		}
		seen[name] = true
		files := d.places.files(d, name)
		for _, in := range d.places.holders(d, name) {
			if d.inFile(files, in.unit, &d.Nodes[in.node]) {
				weights[d.In(in.unit, in.node)] += uint64(d.Units[in.unit].Count)
			}
		}
	}
	functions := false
	var left []Holder
	for _, h := range own {
		w := weights[h.Type]
		functions = functions || w != 0 && d.symbols.Of(d.Node(h.Type).Name)&symbols.Split == 0
		if w != 0 || h.FromBTF {
			h.Weight = w
			left = append(left, h)
		}
	}
	if !functions {
		return own
	}
	return left
}

// inFile reports whether the symbol of a unit's function may be in the linked file. files are those
// with a local symbol of that name.
func (d *decider) inFile(files map[types.Str]bool, unit int, n *types.Node) bool {
	bits := d.symbols.Of(n.Name)
	return bits&symbols.ExactLoose != 0 ||
		n.Aux == types.LinkageGlobal && bits&symbols.ExactGlobal != 0 ||
		files[d.Units[unit].File]
}

// places are the units and source files of functions whose name several candidates have. Most links
// don't need them.
type places struct {
	units   map[types.Str][]unitNode  // by name
	symbols map[types.Str][]types.Str // local ones: the files, by name
}

// unitNode is a node as a unit holds it.
type unitNode struct {
	unit int
	node types.ID
}

// holders returns the linked units that hold the functions of a name.
func (p *places) holders(d *decider, name types.Str) []unitNode {
	if p.units == nil {
		p.units = map[types.Str][]unitNode{}
		kinds := d.Kinds
		for u := range d.Units {
			if !d.Selected[u] {
				continue
			}
			for _, id := range d.Units[u].Items {
				if kinds[id] != types.KindFunc {
					continue
				}
				if name := d.Nodes[id].Name; d.Functions.HasSeveral(name) || !d.Fixed(id) {
					p.units[name] = append(p.units[name], unitNode{u, id})
				}
			}
		}
	}
	return p.units[name]
}

// files returns the base names of the source files that have a local symbol of a function.
func (p *places) files(d *decider, name types.Str) map[types.Str]bool {
	if p.symbols == nil {
		p.holders(d, name) // only the symbols of these count
		p.symbols = map[types.Str][]types.Str{}
		strs := &d.Graph.Strs
		for i := range d.facts.Files {
			f := &d.facts.Files[i]
			file, ok := strs.Lookup([]byte(f.Name))
			if !ok || f.Name == "" {
				continue
			}
			for _, s := range d.symbols.Locals(i) {
				if s != 0 && p.units[s] != nil {
					p.symbols[s] = append(p.symbols[s], file)
				}
			}
		}
	}
	files := map[types.Str]bool{}
	for _, file := range p.symbols[name] {
		files[file] = true
	}
	return files
}

// owners returns the candidates to which the symbol belongs. If any have code, those without are
// dropped: they are copies that were inlined. (If all are without code, the symbol is an alias of
// an identical function.) Of the rest, weak ones are dropped if there are strong ones, unless the
// symbol is hidden.
func (d *decider) owners(name types.Str, group []Holder) []Holder {
	own := d.without(types.FuncNoCode, group)
	if d.hidden(name) {
		return own
	}
	return d.without(types.FuncWeak, own)
}

// hidden reports whether the linker made the symbol local. Then it is unknown whether it was weak:
// in the linked file's DWARF the definition that is there looks strong and the others weak, while
// in the objects all may be weak. So inconsistent prototypes of a hidden symbol are left out with
// any features.
func (d *decider) hidden(name types.Str) bool {
	return d.symbols.Of(name)&symbols.Exact == symbols.ExactLoose
}

// withCopies returns the owners, and all candidates without code: inlined copies of the function,
// whose prototypes are compared too.
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
