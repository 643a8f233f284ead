package decide

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

func (d *decider) encodeFunctions() {
	parts := d.split()
	each := func(do func(p *part)) {
		parallel.Do(d.jobs, len(parts), func(i int) { do(&parts[i]) })
	}
	each((*part).findSuffixed)
	clones := d.findClones(parts)
	each(func(p *part) { p.decide(&clones) })
	if found := d.findPlaces(parts, &clones); found != nil {
		each(func(p *part) {
			p.places = found
			p.decideOn(p.undecided, &clones)
		})
	}
	d.functions = make([]function, 0, d.types.Held.Functions.Len())
	for i := range parts {
		d.join(&parts[i])
	}
}

// candidates returns the candidates for a name, and the candidates for its clones and parts.
func (d *decider) candidates(name types.Str, clones []types.Str) []Holder {
	group := d.holders(types.KindFunc, name)
	for _, clone := range clones {
		group = d.types.Holders(types.KindFunc, clone, group)
	}
	d.group = group
	return slices.DeleteFunc(group, func(h Holder) bool {
		return flags(&h)&types.FuncRenamed != 0 || h.FromBTF && d.types.Node(h.Type).Name != name
	})
}

// clones lists the candidates whose symbols have suffixes: clones that are encoded as the function
// itself, and parts of functions.
type clones struct {
	of    map[types.Str][]types.Str // by base name
	roles []role                    // by name
}

// role says how to decide on the candidates for a name.
type role uint8

const (
	asItself  role = iota
	hasClones      // the name is the base name of clones
	isClone        // the name is decided on together with its base name
)

// findClones finds the clones among the names with a suffix, which the parts have listed. With the
// feature true_signature, clones are separate functions, and findClones only records which
// functions have clones.
// Rule: true_signature. Which clones are separate functions.
func (d *decider) findClones(parts []part) clones {
	c := clones{of: map[types.Str][]types.Str{}, roles: make([]role, d.shapes.Graph.Strs.Len())}
	own := d.features.Has(features.TrueSignature)
	for i := range parts {
		p := &parts[i]
		for _, s := range p.suffixed {
			name := d.shapes.Graph.Strs.Bytes(s.name)
			base := d.shapes.Graph.Strs.InternHashed(name[:s.dot], s.base)
			if own && !facts.IsPart(string(name)) {
				if d.facts != nil {
					d.symbols.Add(base, symbols.HasClones)
				}
				continue
			}
			switch {
			case c.of[base] != nil:
			case d.types.Held.Functions.Has(base):
				c.roles[base] = hasClones
			default:
				p.alone = append(p.alone, base)
			}
			c.of[base] = append(c.of[base], s.name)
			c.roles[s.name] = isClone
		}
	}
	return c
}

// encodeFunction decides on the candidates for one name. The name is a base name or, with the
// feature true_signature, a clone's full name.
// Rule: functions: what is encoded if several share a name. Source: pahole
// btf_encoder__add_saved_funcs.
func (d *decider) encodeFunction(name types.Str, group []Holder) {
	own := group
	switch {
	case len(group) == 0:
		return
	case d.facts == nil:
		// Functions that an earlier link encoded stay as they are.
		for _, h := range group {
			if h.FromBTF {
				d.encodedAs(h.Type, d.function(name, d.types.Node(h.Type).Linkage(), h.Ref))
			}
		}
		if slices.ContainsFunc(group, func(h Holder) bool { return h.FromBTF }) {
			return
		}
	case !d.hasSymbol(name):
		return
	default:
		if own = d.claimants(name, group); len(own) == 0 {
			return
		}
		if !btf.ValidIdentifier(d.shapes.Graph.Strs.Bytes(name)) { // gcc allows $ and UTF-8 in C
			d.skip(d.shapes.Graph.Strs.String(name), params.ReasonName)
			return
		}
		if reason := d.symbolReason(name); reason != "" {
			d.skip(d.shapes.Graph.Strs.String(name), reason)
			return
		}
	}
	own = d.owners(name, own)
	compared := d.withCopies(own, group)
	if reason := d.skipReason(name, own, compared); reason != "" {
		d.skip(d.shapes.Graph.Strs.String(name), reason)
		return
	}
	proto := d.prototype(own)
	if d.unnamedParameter(proto) {
		d.skip(d.shapes.Graph.Strs.String(name), params.ReasonUnnamedParameter)
		return
	}
	f := d.function(name, types.LinkageStatic, proto)
	if d.facts != nil && d.symbols.Of(name)&symbols.Kfunc != 0 {
		d.kfuncs[name] = f
	}
	for i := range compared {
		if compared[i].Ref == proto {
			d.encodedAs(compared[i].Type, f)
		}
	}
}

// encodedAs records which made type encodes k, a FUNC or VAR, for declaration tags that refer to k.
func (d *decider) encodedAs(k, made Type) {
	if len(d.types.Held.DeclTags)+len(d.types.Held.Sections) > 0 || d.facts == nil {
		d.encoded[k] = made
	}
}

// hasSymbol reports whether the linked file has a symbol of the function: one with this name, or
// the symbol of a clone that isn't a separate function.
// Rule: symbols that a function must have. A global or local one of its name, or a clone's.
func (d *decider) hasSymbol(name types.Str) bool {
	bits := d.symbols.Of(name)
	return bits&symbols.Exact != 0 || bits&symbols.Suffixed != 0 && bits&symbols.HasClones == 0
}

// symbolReason returns why a function's symbols prevent encoding it, or "" if they don't.
// Rule: skipped: only clones are in the file.
func (d *decider) symbolReason(name types.Str) string {
	switch {
	case d.symbols.Of(name)&symbols.Exact == 0 && !d.features.Has(features.OptimizedFunc):
		return params.ReasonClone
	case d.severalAddresses(name):
		return params.ReasonAmbiguousAddress
	}
	return ""
}

// severalAddresses reports whether functions with this name are at several addresses. A tracer that
// attaches by name couldn't know which function is meant. Clones' addresses count too, unless the
// clones are encoded under their own names.
// Rule: skipped: ambiguous address. Source: pahole elf_function__has_ambiguous_address.
func (d *decider) severalAddresses(name types.Str) bool {
	bits := d.symbols.Of(name)
	if !d.features.Has(features.TrueSignature) || bits&symbols.Exact == 0 {
		return bits&symbols.Ambiguous != 0
	}
	if bits&symbols.SameName == 0 {
		return false
	}
	base, _ := facts.BaseName(d.shapes.Graph.Strs.String(name))
	_, several := slices.BinarySearchFunc(d.facts.SeveralAddresses, base,
		func(b facts.RepeatedName, name string) int { return strings.Compare(b.Name, name) })
	return several
}

// flags returns the flags of a function. A function that an earlier link encoded has none.
func flags(h *Holder) types.FuncFlags {
	if h.FromBTF {
		return 0
	}
	return types.FuncFlags(h.Size)
}

// skipReason returns why a function can't be encoded, or "" if it can. The flags for reordered,
// uncertain and unexpected parameters count if any owner has them, even a split-off part. The flags
// for optimized and unlocated parameters count only if every owner has one of the two.
// Rule: skipped: the reasons that the link finds.
func (d *decider) skipReason(name types.Str, own, compared []Holder) string {
	const changed = types.FuncOptimized | types.FuncUnlocated
	any, all := types.FuncFlags(0), ^types.FuncFlags(0)
	allChanged := true
	for _, h := range own {
		any |= flags(&h)
		all &= flags(&h)
		allChanged = allChanged && flags(&h)&changed != 0
	}
	switch {
	case any&types.FuncUnsized != 0:
		return params.ReasonUnsized
	case all&types.FuncOptimized != 0:
		return params.ReasonOptimized
	case allChanged:
		return params.ReasonUnknown
	case any&types.FuncReordered != 0:
		return params.ReasonReordered
	case any&types.FuncUncertain != 0:
		return params.ReasonUncertainLocation
	case d.features.Has(features.ConsistentFunc) && !d.isConsistent(compared),
		d.isHidden(name) && !d.isConsistent(own):
		return params.ReasonInconsistentPrototype
	case any&types.FuncUnexpectedReg != 0:
		return params.ReasonUnexpectedRegister
	}
	return ""
}

// isConsistent reports whether the prototypes of all candidates have the same loose hash.
// Rule: skipped: inconsistent prototype. Source: pahole funcs__match.
func (d *decider) isConsistent(group []Holder) bool {
	first := d.types.Node(group[0].Type).Ref
	return !slices.ContainsFunc(group, func(h Holder) bool {
		shape := d.types.Node(h.Type).Ref
		return shape != first && d.prototypes.hash(shape) != d.prototypes.hash(first)
	})
}

// prototype returns the prototype that the owners (owners.go) have in most units. Ties are broken
// by content. With consistent_func, functions with inconsistent prototypes are already skipped.
// Rule: prototype that is encoded, of several. Source: pahole btf_encoder__select_canonical_state.
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
			d.types.Content(p).Less(d.types.Content(best)) {
			best = p
		}
	}
	return best
}

// unnamedParameter reports whether a prototype has a parameter without a name. The kernel rejects a
// FUNC with such a prototype (btf_func_check). "..." is allowed; it has neither name nor type.
// Rule: skipped: unnamed parameter. Source: kernel btf_func_check; pahole ftype__has_arg_names,
// without a message.
func (d *decider) unnamedParameter(proto Type) bool {
	return slices.ContainsFunc(d.shapes.Graph.ElemsOf(d.types.Node(proto)), func(p types.Elem) bool {
		return p.Name == 0 && p.Ref != 0
	})
}
