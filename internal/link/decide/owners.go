package decide

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// claimants returns those candidates for a function that have, as far as symbols show, code in the
// linked file. A candidate must have a function symbol with its name. If the facts have source
// files, the symbol of a static function must be local, and if several candidates have the name of
// a local symbol, source files select among them (ofTheirFiles). The linked file's DWARF could show
// more, but it is not used: the DWARF of the object files must give the same result.
// Rule: candidates in the linked file. pahole instead uses the addresses in the DWARF.
func (d *decider) claimants(name types.Str, group []Holder) []Holder {
	own := group
	if slices.ContainsFunc(group, d.isForeign) {
		own = slices.DeleteFunc(slices.Clone(group), d.isForeign)
	}
	functions := slices.ContainsFunc(own, func(h Holder) bool {
		return d.symbols.Of(d.types.Node(h.Type).Name)&symbols.Part == 0
	})
	switch {
	case functions && len(own) > 1:
		return d.ofTheirFiles(name, own)
	case functions:
		return own
	case d.symbols.Of(name)&symbols.Exact != 0:
		return nil
	}
	// Here, the name has only symbols of clones, and the candidates come from BTF that a compiler
	// wrote. Such BTF doesn't say which candidates are clones.
	return slices.DeleteFunc(slices.Clone(group), func(h Holder) bool {
		return d.types.Node(h.Type).Name != name
	})
}

// isForeign reports whether no symbol of the linked file can belong to a candidate.
func (d *decider) isForeign(h Holder) bool {
	n := d.types.Node(h.Type)
	bits := d.symbols.Of(n.Name)
	static := n.Linkage() == types.LinkageStatic && !h.FromBTF && d.facts.HasFiles
	return bits&symbols.Exact == 0 ||
		static && bits&(symbols.ExactLocal|symbols.ExactLoose) == 0
}

// ofTheirFiles selects, from several candidates with the name of a local symbol, those of units
// whose source file has that symbol. If there are none, the symbol table uses different names for
// the files, and all candidates stay. If the places aren't known yet, the name becomes undecided,
// and ofTheirFiles returns no candidates.
// Rule: static functions with the same name: which file's.
func (d *decider) ofTheirFiles(function types.Str, own []Holder) []Holder {
	contested := false
	for i := range own {
		name := d.types.Node(own[i].Type).Name
		contested = contested || d.symbols.Of(name)&symbols.ExactLocal != 0 &&
			slices.ContainsFunc(own[i+1:], func(h Holder) bool { return d.types.Node(h.Type).Name == name })
	}
	if !contested || !d.facts.HasFiles {
		return own
	}
	if d.places == nil {
		d.undecided = append(d.undecided, function)
		return nil
	}
	weights := map[Type]uint64{}
	seen := map[types.Str]bool{}
	for i := range own {
		name := d.types.Node(own[i].Type).Name
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, in := range d.places.units[name] {
			if d.inFile(in.unit, &d.shapes.Nodes[in.node]) {
				weights[in.typ] += uint64(d.types.Held.Units[in.unit].Count)
			}
		}
	}
	functions := false
	var left []Holder
	for _, h := range own {
		w := weights[h.Type]
		functions = functions || w != 0 && d.symbols.Of(d.types.Node(h.Type).Name)&symbols.Part == 0
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

// inFile reports whether a symbol in the linked file may belong to a unit's function.
func (d *decider) inFile(unit int, n *types.Node) bool {
	bits := d.symbols.Of(n.Name)
	return bits&symbols.ExactLoose != 0 ||
		n.Linkage() == types.LinkageGlobal && bits&symbols.ExactGlobal != 0 ||
		d.places.symbols[symbolIn{n.Name, d.types.Held.Units[unit].File}]
}

// owners returns the candidates to which the symbol belongs. If some of them have code, those
// without code are dropped: they are inlined copies. (If none has code, the symbol is an alias of
// an identical function.) Then, if some candidates are strong, the weak ones are dropped, unless
// the symbol is hidden.
// Rule: weak and strong functions, aliases without code. Source: pahole
// btf_encoder__select_canonical_state.
func (d *decider) owners(name types.Str, group []Holder) []Holder {
	own := d.without(types.FuncNoCode, group)
	if d.isHidden(name) {
		return own
	}
	return d.without(types.FuncWeak, own)
}

// isHidden reports whether the linker made the symbol local. Such a symbol doesn't show whether it
// was weak, nor does DWARF: in the linked file's DWARF, the linked definition looks strong and the
// others look weak, but in the object files all of them may be weak. So a function with a hidden
// symbol and inconsistent prototypes is left out, whatever the features are.
func (d *decider) isHidden(name types.Str) bool {
	return d.symbols.Of(name)&symbols.Exact == symbols.ExactLoose
}

// withCopies returns the owners and all candidates without code (inlined copies).
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

// without returns the candidates without the flag, or if all have it, all of them.
func (d *decider) without(flag types.FuncFlags, group []Holder) []Holder {
	has := func(h Holder) bool { return flags(&h)&flag != 0 }
	if len(group) == 1 || !slices.ContainsFunc(group, has) {
		return group // nearly always
	}
	if kept := slices.DeleteFunc(slices.Clone(group), has); len(kept) > 0 {
		return kept
	}
	return group
}
