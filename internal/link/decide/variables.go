package decide

import (
	"fmt"
	"math"
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/types"
)

// encodeVariables makes the VARs and DATASECs.
func (d *decider) encodeVariables() error {
	if d.facts == nil {
		d.keepVariables()
		return d.checkSections()
	}
	all := d.features.Has(features.GlobalVar)
	if !all && !d.features.Has(features.Var) {
		return nil
	}
	vars := map[Type]Type{}
	objects := d.facts.Objects
	d.locals.count(d.facts)
	for i := 0; i < len(objects); {
		j := i + 1
		for j < len(objects) && objects[j].Section == objects[i].Section {
			j++
		}
		if all || objects[i].Section == facts.PerCPUSection {
			if err := d.encodeSection(objects[i:j], vars); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}

// encodeSection makes the DATASEC of one section's variables, which are sorted by offset, and their
// VARs.
func (d *decider) encodeSection(objects []facts.Object, vars map[Type]Type) error {
	section := Made{Kind: types.KindDatasec, Name: d.Graph.Strs.Intern([]byte(objects[0].Section))}
	var elems []Elem
	end := uint64(0)
	for i := range objects {
		o := &objects[i]
		if o.Size == 0 || facts.Generated(o.Name) || len(elems) > 0 && o.Offset < end {
			continue
		}
		valid := btf.ValidIdentifier([]byte(o.Name))
		var group []Holder
		if s, ok := d.Graph.Strs.Lookup([]byte(d.facts.SourceName(o.Name))); ok {
			group = d.holders(types.KindVar, s)
		}
		v, reason := d.variable(o, group)
		switch {
		case v == 0:
			if valid {
				d.Skipped = append(d.Skipped, Skipped{o.Name, reason})
			}
			continue
		case !valid && !d.features.Has(features.EncodeForce):
			return fmt.Errorf("variable %.100q in section %s: its name is no identifier of at most "+
				"%d bytes, and the kernel refuses it; the feature %v leaves such variables out",
				o.Name, o.Section, btf.MaxNameLen, features.EncodeForce)
		case !valid:
			d.Skipped = append(d.Skipped, Skipped{o.Name, reasonName})
			continue
		}
		n := d.Node(v)
		size := o.Size
		if n.Size != 0 {
			size = uint64(n.Size)
		}
		if end = o.Offset + size; end > math.MaxUint32 || end < size {
			return fmt.Errorf("variable %s in section %s: offset %d and size %d don't fit the "+
				"format's 32 bits", o.Name, o.Section, o.Offset, size)
		}
		m, ok := vars[v]
		if !ok {
			m = d.make(Made{Kind: types.KindVar, Name: n.Name, Aux: n.Aux, Ref: d.RefOf(v)})
			vars[v] = m
		}
		d.encodedAs(v, m)
		elems = append(elems, Elem{0, m, o.Offset | size<<32})
	}
	if len(elems) == 0 {
		return nil
	}
	if len(elems) > btf.MaxVlen {
		return tooManyVariables(objects[0].Section, len(elems))
	}
	section.Size = uint32(end)
	d.make(section, elems...)
	return nil
}

func tooManyVariables(section string, n int) error {
	return fmt.Errorf("section %s has %d variables, BTF holds %d; leave out the feature global_var",
		section, n, btf.MaxVlen)
}

// variable returns the type of the candidate that an object is; if there is none, 0 and why.
//
// The candidate is of the object's size. If none is, it is a smaller one: the object has the
// elements of a flexible array member too, or a sanitizer's red zone after it.
func (d *decider) variable(o *facts.Object, group []Holder) (v Type, reason string) {
	if o.Local && d.locals.identified[localNameOf(d.facts, o)] {
		// The debug information says which units define the variables of this name. No other unit's
		// is meant; but BTF that was linked before says nothing of units.
		list := d.definers(o, group)
		if v := d.commonest(list); v != 0 {
			if d.typesDiffer(list, v) {
				return 0, reasonSeveral
			}
			return v, ""
		}
		group = slices.DeleteFunc(group, func(h Holder) bool { return !h.Linked })
	}
	of := func(linkage uint32, fits func(size uint64) bool) []Holder {
		var list []Holder
		for _, h := range group {
			n := d.Node(h.Type)
			if h.Linked || (n.Aux == types.LinkageStatic) == (linkage == types.LinkageStatic) &&
				fits(uint64(n.Size)) {
				list = append(list, h)
			}
		}
		return list
	}
	same := func(size uint64) bool { return size == 0 || size == o.Size }
	smaller := func(size uint64) bool { return size != 0 && size < o.Size }
	for _, linkage := range d.linkages(o, group) {
		for _, fits := range []func(uint64) bool{same, smaller} {
			list := d.ofFile(o, of(linkage, fits))
			if v := d.commonest(list); v != 0 {
				if linkage == types.LinkageStatic && d.typesDiffer(list, v) {
					return 0, reasonSeveral
				}
				return v, ""
			}
		}
	}
	return 0, reasonNoVariable
}

// linkages are those that the candidate for an object may have, the likeliest first. A local symbol
// is a static variable, or a global one if no global symbol has its name: linkers make hidden ones
// local, and put them under no source file.
func (d *decider) linkages(o *facts.Object, group []Holder) []uint32 {
	f := d.facts
	switch {
	case !o.Local && f.SourceName(o.Name) == o.Name:
		return []uint32{types.LinkageGlobal}
	case len(group) == 0, d.symbols.Of(d.Node(group[0].Type).Name)&symbols.Global != 0:
		return []uint32{types.LinkageStatic}
	case o.Local && f.HasFiles && f.Files[o.File].Name == "":
		return []uint32{types.LinkageGlobal, types.LinkageStatic}
	}
	return []uint32{types.LinkageStatic, types.LinkageGlobal}
}

// typesDiffer tells whether candidates of the compiler have other types than v, the commonest, has.
// One of unknown size says less than one whose size is known.
func (d *decider) typesDiffer(group []Holder, v Type) bool {
	sized := d.Node(v).Size != 0
	for _, h := range group {
		if !h.Linked && h.Ref != 0 && h.Ref != d.RefOf(v) &&
			(d.Node(h.Type).Size != 0 || !sized) {
			return true
		}
	}
	return false
}

// ofFile narrows several candidates for a local object down to those of the file that defines it,
// if it can. Where there are more objects of the name than units that hold a candidate, some are an
// assembler's, and those of other files are no candidates.
func (d *decider) ofFile(o *facts.Object, group []Holder) []Holder {
	if !o.Local || len(group) == 0 {
		return group
	}
	held := uint64(0)
	for _, h := range group {
		if h.Linked {
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

// commonest returns the candidate of known size that most units hold, ties by content; 0 if there
// is none.
func (d *decider) commonest(group []Holder) Type {
	var best Holder
	for _, h := range group {
		if h.Ref == 0 {
			continue // void
		}
		sized, bestSized := d.Node(h.Type).Size != 0, best.Type != 0 &&
			d.Node(best.Type).Size != 0
		switch {
		case best.Type == 0, sized && !bestSized:
			best = h
		case !sized && bestSized:
		case h.Weight > best.Weight, h.Weight == best.Weight &&
			d.Content(h.Type).Less(d.Content(best.Type)):
			best = h
		}
	}
	return best.Type
}
