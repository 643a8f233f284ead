package decide

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/params"
	"github.com/rules-btf/rules_btf/internal/types"
)

// encodeFunctions makes the FUNCs.
func (d *decider) encodeFunctions() {
	d.nodes = make([]types.Node, 0, d.Functions.Len())
	if d.facts != nil && d.features.Has(features.TrueSignature) {
		d.findClones()
	}
	for name := range d.Functions.Keys() {
		group := slices.DeleteFunc(d.holders(types.KindFunc, name), func(h Holder) bool {
			return flags(&h)&types.FuncRenamed != 0
		})
		if len(group) != 0 {
			d.encodeFunction(name, group)
		}
	}
}

// encodeFunction decides on the candidates of one name: a base name, or with the feature
// true_signature a clone's full name.
func (d *decider) encodeFunction(name types.Str, group []Holder) {
	switch {
	case d.facts == nil:
		// Results of an earlier link stay as they are.
		for _, h := range group {
			if h.FromBTF {
				d.encodedAs(h.Type, d.function(name, d.Node(h.Type).Aux, h.Ref))
			}
		}
		if slices.ContainsFunc(group, func(h Holder) bool { return h.FromBTF }) {
			return
		}
	case !d.hasSymbol(name):
		return
	case d.severalAddresses(name):
		d.skip(name, params.ReasonAmbiguousAddress)
		return
	}
	own := d.owners(group)
	if reason := d.against(own, group); reason != "" {
		d.skip(name, reason)
		return
	}
	proto := d.prototype(own)
	f := d.function(name, types.LinkageStatic, proto)
	if d.facts != nil && d.symbols.Of(name)&symbols.Kfunc != 0 {
		d.kfuncs[name] = f
	}
	for i := range group {
		if group[i].Ref == proto {
			d.encodedAs(group[i].Type, f)
		}
	}
}

func (d *decider) function(name types.Str, linkage uint32, proto Type) Type {
	return d.make(types.Node{Kind: types.KindFunc, Name: name, Aux: linkage, Ref: types.ID(proto)})
}

// encodedAs notes which made type is encoded for a FUNC or VAR, for what else refers to that.
func (d *decider) encodedAs(k, made Type) {
	if len(d.DeclTags)+len(d.Sections) > 0 || d.facts == nil {
		d.encoded[k] = made
	}
}

// hasSymbol tells whether the linked file has the function, under this name or as a clone that has
// no candidate of its own.
func (d *decider) hasSymbol(name types.Str) bool {
	switch bits := d.symbols.Of(name); {
	case bits&symbols.Exact != 0:
		return true
	case bits&symbols.Suffixed != 0:
		return bits&symbols.HasClones == 0 && d.features.Has(features.OptimizedFunc)
	}
	return false
}

// severalAddresses tells whether the function has several addresses. Clones count as the function
// that they are of, unless they are encoded under their own names.
func (d *decider) severalAddresses(name types.Str) bool {
	bits := d.symbols.Of(name)
	if !d.features.Has(features.TrueSignature) || bits&symbols.Exact == 0 {
		return bits&symbols.Ambiguous != 0
	}
	if bits&symbols.SameName == 0 {
		return false
	}
	base, _ := facts.BaseName(d.Graph.Strs.String(name))
	_, several := slices.BinarySearchFunc(d.facts.SeveralAddresses, base,
		func(b facts.RepeatedName, name string) int { return strings.Compare(b.Name, name) })
	return several
}

// findClones notes which functions have clones that are encoded under their own names.
func (d *decider) findClones() {
	for name := range d.Functions.Keys() {
		if len(d.holders(types.KindFunc, name)) == 0 || d.symbols.Of(name)&symbols.Exact == 0 {
			continue
		}
		b := d.Graph.Strs.Bytes(name)
		if i := bytes.IndexByte(b, '.'); i > 0 {
			if base, ok := d.Graph.Strs.Lookup(b[:i]); ok {
				d.symbols.Add(base, symbols.HasClones)
			}
		}
	}
}

// owners returns the candidates to which the symbol belongs: those with code, if any have some (the
// others are copies that were inlined away; where all are without code, the symbol is an alias of
// an identical function), and of these the strong ones, if any are.
func (d *decider) owners(group []Holder) []Holder {
	return d.without(types.FuncWeak, d.without(types.FuncNoCode, group))
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

// flags are those of a function; a result of an earlier link has none.
func flags(h *Holder) types.FuncFlags {
	if h.FromBTF {
		return 0
	}
	return types.FuncFlags(h.Size)
}

// against returns why a function can't be encoded, "" if it can. Reordered, uncertain and
// unexpected count if any candidate with code has them, even a part that was split off; optimized
// and unlocated count only if all owners have one of the two. Where no candidate has code, all
// candidates count as if they had. The prototypes of all candidates of the name are compared.
func (d *decider) against(own, group []Holder) string {
	const changed = types.FuncOptimized | types.FuncUnlocated
	any, all := types.FuncFlags(0), ^types.FuncFlags(0)
	allChanged := true
	for _, h := range d.without(types.FuncNoCode, group) {
		any |= flags(&h)
	}
	for _, h := range own {
		all &= flags(&h)
		allChanged = allChanged && flags(&h)&changed != 0
	}
	switch {
	case all&types.FuncOptimized != 0:
		return params.ReasonOptimized
	case allChanged:
		return params.ReasonUnknown
	case any&types.FuncReordered != 0:
		return params.ReasonReordered
	case any&types.FuncUncertain != 0:
		return params.ReasonUncertainLocation
	case d.features.Has(features.ConsistentFunc) && !d.consistent(group):
		return params.ReasonInconsistentPrototype
	case any&types.FuncUnexpectedReg != 0:
		return params.ReasonUnexpectedRegister
	}
	return ""
}

// consistent tells whether the prototypes of all candidates are the same but for what looseHashes
// overlook.
func (d *decider) consistent(group []Holder) bool {
	first := d.Node(group[0].Type).Ref
	return !slices.ContainsFunc(group, func(h Holder) bool {
		shape := d.Node(h.Type).Ref
		return shape != first && d.prototypes.hash(shape) != d.prototypes.hash(first)
	})
}

// prototype returns the prototype that most units have, ties by content.
func (d *decider) prototype(group []Holder) Type {
	best := group[0].Ref
	if !slices.ContainsFunc(group, func(h Holder) bool { return h.Ref != best }) {
		return best
	}
	weights := map[Type]uint64{}
	for i := range group {
		weights[group[i].Ref] += group[i].Weight
	}
	for i := range group {
		p := group[i].Ref
		if weights[p] > weights[best] || weights[p] == weights[best] &&
			d.Content(p).Less(d.Content(best)) {
			best = p
		}
	}
	return best
}
