package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// encodeVariables makes the VARs and DATASECs. Without facts, it keeps only the VARs and DATASECs
// of BTF that is already linked. With facts, it encodes variables for the objects (symbols) in the
// facts. The rules:
//
//  1. The per-CPU section is wanted with the feature var or global_var, all other sections only
//     with global_var. If decider.extra is set, the per-CPU section is not wanted.
//  2. The objects of a section are sorted by offset, then by the length of their names: only the
//     first object at an offset is encoded. The others are aliases, such as __pi_gdt_page for
//     gdt_page (SYM_PIC_ALIAS), which gcc's BTF has as separate variables.
//  3. Generated objects (facts.Generated), objects that begin before the end of the last encoded
//     one, and objects of size 0 are left out. Of all these, --skipped lists only the per-CPU
//     objects of size 0 with valid names.
//  4. The candidates are variables with the object's name in the source, preferably those from its
//     kind of section. If the facts identify the local variables with the object's name and file,
//     the object's Definition (a hash) selects among the candidates. Otherwise, three criteria
//     select, in this order: linkage; size (first the object's size or an unknown one, then a
//     smaller one); source file. The commonest of the remaining candidates is encoded. If none
//     remains, the object is skipped; --skipped lists it only if its name is valid.
//  5. A static variable is skipped if the remaining candidates have different types.
//  6. An invalid name is an error; with the feature encode_force, the object is skipped.
//  7. In the DATASEC, a variable has its candidate's size or, if that is unknown, the object's. The
//     size of the DATASEC is the end of its last variable.
//
// Rule: variables: which are encoded. Source: pahole btf_encoder__encode_cu_variables.
func (d *decider) encodeVariables() error {
	if d.facts == nil {
		return d.keepVariables()
	}
	all := d.features.Has(features.GlobalVar)
	if !all && !d.features.Has(features.Var) {
		return nil
	}
	vars := map[variable]Type{}
	d.locals.count(d.facts)
	for rest := d.facts.Vars; len(rest) > 0; {
		section := rest[0].Section
		n := slices.IndexFunc(rest, func(o facts.Variable) bool { return o.Section != section })
		if n < 0 {
			n = len(rest)
		}
		perCPU := section == facts.PerCPUSection
		if perCPU && !d.extra || !perCPU && all {
			if err := d.encodeSection(rest[:n], vars); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	return nil
}

// variable describes a VAR. Several types of package resolve may have equal descriptions.
type variable struct {
	name    types.Str
	linkage uint32
	ref     Type
}

// Rule: DATASEC: order, overlaps, size. Source: pahole btf_encoder__add_datasec.
func (d *decider) encodeSection(objects []facts.Variable, vars map[variable]Type) error {
	name := d.shapes.Graph.Strs.Intern([]byte(objects[0].Section))
	var elems []Elem
	end := uint64(0) // of the last encoded object
	for _, o := range inOrder(objects) {
		if facts.Generated(o.Name) || len(elems) > 0 && o.Offset < end {
			continue
		}
		valid := btf.ValidIdentifier([]byte(o.Name))
		if o.Size == 0 {
			if valid && o.Section == facts.PerCPUSection {
				d.skip(o.Name, reasonNoSize)
			}
			continue
		}
		var group []Holder
		if s, ok := d.shapes.Graph.Strs.Lookup([]byte(d.facts.SourceName(o.Name))); ok {
			group = d.ofSection(o, d.holders(types.KindVar, s))
		}
		v, reason := d.variable(o, group)
		switch {
		case v == 0:
			if valid {
				d.skip(o.Name, reason)
			}
			continue
		case !valid && !d.features.Has(features.EncodeForce):
			return fmt.Errorf("variable %.100q in section %s: its name is not an identifier of at most "+
				"%d bytes, so the kernel refuses it; use the feature %v to leave such variables out",
				o.Name, o.Section, btf.MaxNameLen, features.EncodeForce)
		case !valid:
			d.skip(o.Name, reasonName)
			continue
		}
		n := d.types.Node(v)
		size := cmp.Or(uint64(n.Size), o.Size)
		if end = o.Offset + size; end > math.MaxUint32 || end < size {
			return fmt.Errorf("variable %s in section %s: offset %d and size %d don't fit in the "+
				"32 bits of the format", o.Name, o.Section, o.Offset, size)
		}
		key := variable{n.Name, n.Linkage(), d.types.RefOf(v)}
		m, ok := vars[key]
		if !ok {
			m = d.make(Node{Kind: types.KindVar, Name: n.Name, Aux: n.Aux, Ref: key.ref})
			vars[key] = m
		}
		d.encodedAs(v, m)
		elems = append(elems, Elem{Ref: m, Val: o.Offset | size<<32})
	}
	switch {
	case len(elems) > btf.MaxVlen:
		return d.tooManyVariables(name, len(elems))
	case len(elems) > 0:
		d.make(Node{Kind: types.KindDatasec, Name: name, Size: uint32(end)}, elems...)
	}
	return nil
}

func inOrder(objects []facts.Variable) []*facts.Variable {
	list := make([]*facts.Variable, len(objects))
	for i := range objects {
		list[i] = &objects[i]
	}
	slices.SortStableFunc(list, func(a, b *facts.Variable) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(len(a.Name), len(b.Name)))
	})
	return list
}

func (d *decider) tooManyVariables(section types.Str, n int) error {
	return fmt.Errorf("section %s has %d variables, more than BTF's limit of %d; leave out the "+
		"feature global_var", d.shapes.Graph.Strs.String(section), n, btf.MaxVlen)
}

// variable returns the type of the candidate for an object, or 0 and the reason why there is none
// (rules 4 and 5). An object may be larger than its variable, because it includes the elements of a
// flexible array member, or a sanitizer's red zone.
// Rule: skipped: reasons for variables.
func (d *decider) variable(o *facts.Variable, group []Holder) (v Type, reason string) {
	if o.Local && d.locals.identified[localNameOf(d.facts, o)] {
		// Only units that define the variable are considered; already linked BTF has no such units.
		list := d.definers(o, group)
		if v := d.commonest(list); v != 0 {
			if d.typesDiffer(list, v) {
				return 0, reasonSeveral
			}
			return v, ""
		}
		group = slices.DeleteFunc(group, func(h Holder) bool { return !h.FromBTF })
	}
	same := func(size uint64) bool { return size == 0 || size == o.Size }
	smaller := func(size uint64) bool { return size != 0 && size < o.Size }
	for _, linkage := range d.linkages(o, group) {
		for _, fits := range []func(uint64) bool{same, smaller} {
			var list []Holder
			for _, h := range group {
				static := d.types.Node(h.Type).Linkage() == types.LinkageStatic
				if h.FromBTF || static == (linkage == types.LinkageStatic) && fits(uint64(h.Size)) {
					list = append(list, h)
				}
			}
			list = d.ofFile(o, list)
			if v := d.commonest(list); v != 0 {
				if linkage == types.LinkageStatic && d.typesDiffer(list, v) {
					return 0, reasonSeveral
				}
				return v, ""
			}
		}
	}
	if slices.ContainsFunc(group, func(h Holder) bool { return h.Ref == 0 }) {
		return 0, reasonDeclared
	}
	return 0, reasonNoVariable
}

// ofSection returns the candidates that were defined in the object's kind of section (per-CPU or
// not). If there are none, the linker has moved the variable, and ofSection returns all candidates.
func (d *decider) ofSection(o *facts.Variable, group []Holder) []Holder {
	perCPU := o.Section == facts.PerCPUSection
	other := func(h Holder) bool { return !h.FromBTF && d.types.Node(h.Type).Flag == perCPU }
	if !slices.ContainsFunc(group, other) || !slices.ContainsFunc(group, func(h Holder) bool {
		return !other(h)
	}) {
		return group
	}
	return slices.DeleteFunc(group, other)
}

// linkages returns the linkages that the candidate for an object may have, the likeliest first. A
// local symbol may be for a global variable if no global symbol has its name: linkers make hidden
// symbols local, and list them under no source file.
func (d *decider) linkages(o *facts.Variable, group []Holder) []uint32 {
	f := d.facts
	switch {
	case !o.Local && f.SourceName(o.Name) == o.Name:
		return []uint32{types.LinkageGlobal}
	case len(group) == 0, d.symbols.Of(d.types.Node(group[0].Type).Name)&symbols.Global != 0:
		return []uint32{types.LinkageStatic}
	case o.Local && f.HasFiles && f.Files[o.File].Name == "":
		return []uint32{types.LinkageGlobal, types.LinkageStatic}
	}
	return []uint32{types.LinkageStatic, types.LinkageGlobal}
}

// typesDiffer reports whether a candidate has a different type from v, the commonest candidate. It
// ignores candidates from already linked BTF and, if v's size is known, those of unknown size.
func (d *decider) typesDiffer(group []Holder, v Type) bool {
	ref, sized := d.types.RefOf(v), d.types.Node(v).Size != 0
	return slices.ContainsFunc(group, func(h Holder) bool {
		return !h.FromBTF && h.Ref != 0 && h.Ref != ref && (h.Size != 0 || !sized)
	})
}

// ofFile reduces several candidates for a local object to those of the file that defines the
// object, if it can. If more objects have the name than units hold candidates, some are from
// assembly code. Then candidates from other files are dropped even if none is left.
func (d *decider) ofFile(o *facts.Variable, group []Holder) []Holder {
	if !o.Local || len(group) == 0 {
		return group
	}
	held := uint64(0)
	for _, h := range group {
		if h.FromBTF {
			return group
		}
		held += h.Weight
	}
	fewer := d.facts.HasFiles && d.facts.Files[o.File].Name != "" &&
		d.locals.objects[o.Name] > held
	if len(group) == 1 && !fewer {
		return group
	}
	if own := d.inFileOf(o, group); len(own) > 0 || fewer {
		return own
	}
	return group
}

// commonest returns the candidate that most units hold, preferably one of known size; ties are
// broken by content. It returns 0 if there is none.
func (d *decider) commonest(group []Holder) Type {
	sized := func(h Holder) uint32 { return min(h.Size, 1) }
	var best Holder
	for _, h := range group {
		if h.Ref != 0 && (best.Type == 0 || cmp.Or(cmp.Compare(sized(h), sized(best)),
			cmp.Compare(h.Weight, best.Weight),
			d.types.Content(best.Type).Cmp(d.types.Content(h.Type))) > 0) {
			best = h // void, with Ref 0, isn't a candidate
		}
	}
	return best.Type
}

// keepVariables keeps the VARs and DATASECs of BTF that is already linked.
func (d *decider) keepVariables() error {
	if d.types.Held.LinkedWeight == nil {
		return nil
	}
	for name := range d.types.Held.Variables.Keys() {
		for _, h := range d.holders(types.KindVar, name) {
			if h.FromBTF {
				n := d.types.Node(h.Type)
				v := Node{Kind: types.KindVar, Name: n.Name, Aux: n.Aux, Ref: h.Ref}
				d.encodedAs(h.Type, d.make(v))
			}
		}
	}
	seen := map[types.Hash]bool{}
	for id, refs := range d.types.Attached(types.KindDatasec) {
		n := &d.shapes.Nodes[id]
		var elems []Elem
		content := types.Start(types.KindDatasec, 0, 0, n.Hash, types.Hash{})
		for _, e := range d.shapes.Graph.ElemsOf(n) {
			v := refs.Next(e.Ref)
			content.Elem(types.Hash{}, d.types.Content(v), e.Val)
			if made := d.encoded[v]; made != 0 {
				elems = append(elems, Elem{Ref: made, Val: e.Val})
			}
		}
		sum := content.Sum(false)
		if d.types.Held.LinkedWeight[id] == 0 || seen[sum] {
			continue
		}
		seen[sum] = true
		if len(elems) > btf.MaxVlen {
			return d.tooManyVariables(n.Name, len(elems))
		}
		d.make(Node{Kind: types.KindDatasec, Name: n.Name, Size: n.Size}, elems...)
	}
	return nil
}
