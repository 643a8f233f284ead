package link

import (
	"fmt"
	"math"
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Why a variable is not encoded.
const (
	reasonNoVariable = "no variable of file scope in the debug information"
	reasonName       = "name is no identifier"
	reasonSeveral    = "several static variables of this name"
)

// encodeVariables makes the VARs and DATASECs.
func (l *linker) encodeVariables() error {
	if l.opt.Facts == nil {
		l.keepVariables()
		return l.checkSections()
	}
	all := l.opt.Features.Has(features.GlobalVar)
	if !all && !l.opt.Features.Has(features.Var) {
		return nil
	}
	vars := map[final]final{}
	objects := l.opt.Facts.Objects
	l.countLocals()
	for i := 0; i < len(objects); {
		j := i + 1
		for j < len(objects) && objects[j].Section == objects[i].Section {
			j++
		}
		if all || objects[i].Section == facts.PerCPUSection {
			if err := l.encodeSection(objects[i:j], vars); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}

// encodeSection makes the DATASEC of one section's variables, which are sorted by offset, and their
// VARs.
func (l *linker) encodeSection(objects []facts.Object, vars map[final]final) error {
	section := made{kind: types.KindDatasec, name: l.g.Strs.Intern([]byte(objects[0].Section))}
	var elems []madeElem
	end := uint64(0)
	for i := range objects {
		o := &objects[i]
		if o.Size == 0 || facts.Generated(o.Name) || len(elems) > 0 && o.Offset < end {
			continue
		}
		valid := types.Identifier([]byte(o.Name))
		var group []holder
		if s, ok := l.g.Strs.Lookup([]byte(l.opt.Facts.SourceName(o.Name))); ok {
			group = l.holdersNamed(types.KindVar, s)
		}
		v, reason := l.variable(o, group)
		switch {
		case v == 0:
			if valid {
				l.skipped = append(l.skipped, Skipped{o.Name, reason})
			}
			continue
		case !valid && !l.opt.Features.Has(features.EncodeForce):
			return fmt.Errorf("variable %.100q in section %s: its name is no identifier of at most %d bytes, and the kernel refuses it; "+
				"the feature %v leaves such variables out", o.Name, o.Section, types.MaxName, features.EncodeForce)
		case !valid:
			l.skipped = append(l.skipped, Skipped{o.Name, reasonName})
			continue
		}
		n := &l.nodes[l.nodeOf(v)]
		size := o.Size
		if n.Size != 0 {
			size = uint64(n.Size)
		}
		if end = o.Offset + size; end > math.MaxUint32 || end < size {
			return fmt.Errorf("variable %s in section %s: offset %d and size %d don't fit the format's 32 bits", o.Name, o.Section, o.Offset, size)
		}
		m, ok := vars[v]
		if !ok {
			m = l.make(made{kind: types.KindVar, name: n.Name, aux: n.Aux, ref: l.refTo(v)})
			vars[v] = m
		}
		l.encodedAs(v, m)
		elems = append(elems, madeElem{0, m, o.Offset | size<<32})
	}
	if len(elems) == 0 {
		return nil
	}
	if len(elems) > btf.MaxVlen {
		return tooManyVariables(objects[0].Section, len(elems))
	}
	section.size = uint32(end)
	l.make(section, elems...)
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
func (l *linker) variable(o *facts.Object, group []holder) (v final, reason string) {
	if o.Local && l.identified[l.localName(o)] {
		// The debug information says which units define the variables of this name. No other unit's
		// is meant; but BTF that was linked before says nothing of units.
		list := l.definers(o, group)
		if v := l.commonest(list); v != 0 {
			if l.typesDiffer(list, v) {
				return 0, reasonSeveral
			}
			return v, ""
		}
		group = slices.DeleteFunc(group, func(h holder) bool { return !h.linked })
	}
	of := func(linkage uint32, fits func(size uint64) bool) []holder {
		var list []holder
		for _, h := range group {
			n := &l.nodes[l.nodeOf(h.final)]
			if h.linked || (n.Aux == types.LinkageStatic) == (linkage == types.LinkageStatic) &&
				fits(uint64(n.Size)) {
				list = append(list, h)
			}
		}
		return list
	}
	same := func(size uint64) bool { return size == 0 || size == o.Size }
	smaller := func(size uint64) bool { return size != 0 && size < o.Size }
	for _, linkage := range l.linkages(o, group) {
		for _, fits := range []func(uint64) bool{same, smaller} {
			list := l.ofFile(o, of(linkage, fits))
			if v := l.commonest(list); v != 0 {
				if linkage == types.LinkageStatic && l.typesDiffer(list, v) {
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
func (l *linker) linkages(o *facts.Object, group []holder) []uint32 {
	f := l.opt.Facts
	switch {
	case !o.Local && f.SourceName(o.Name) == o.Name:
		return []uint32{types.LinkageGlobal}
	case len(group) == 0, l.symbols.bits[l.nodes[l.nodeOf(group[0].final)].Name]&symGlobal != 0:
		return []uint32{types.LinkageStatic}
	case o.Local && f.HasFiles && f.Files[o.File].Name == "":
		return []uint32{types.LinkageGlobal, types.LinkageStatic}
	}
	return []uint32{types.LinkageStatic, types.LinkageGlobal}
}

// typesDiffer tells whether candidates of the compiler have other types than v, the commonest, has.
// One of unknown size says less than one whose size is known.
func (l *linker) typesDiffer(group []holder, v final) bool {
	sized := l.nodes[l.nodeOf(v)].Size != 0
	for _, h := range group {
		if !h.linked && h.ref != 0 && h.ref != l.refTo(v) &&
			(l.nodes[l.nodeOf(h.final)].Size != 0 || !sized) {
			return true
		}
	}
	return false
}

// ofFile narrows several candidates for a local object down to those of the file that defines it,
// if it can. Where there are more objects of the name than units that hold a candidate, some are an
// assembler's, and those of other files are no candidates.
func (l *linker) ofFile(o *facts.Object, group []holder) []holder {
	if !o.Local || len(group) == 0 {
		return group
	}
	held := uint64(0)
	for _, h := range group {
		if h.linked {
			return group
		}
		held += h.weight
	}
	fewer := l.opt.Facts.HasFiles && l.opt.Facts.Files[o.File].Name != "" &&
		l.localObjects[o.Name] > held
	if len(group) == 1 && !fewer {
		return group
	}
	if own := l.inFileOf(o, group); len(own) > 0 || fewer {
		return own
	}
	return group
}

// commonest returns the candidate of known size that most units hold, ties by content; 0 if there
// is none.
func (l *linker) commonest(group []holder) final {
	var best holder
	for _, h := range group {
		if h.ref == 0 {
			continue // void
		}
		sized, bestSized := l.nodes[l.nodeOf(h.final)].Size != 0, best.final != 0 &&
			l.nodes[l.nodeOf(best.final)].Size != 0
		switch {
		case best.final == 0, sized && !bestSized:
			best = h
		case !sized && bestSized:
		case h.weight > best.weight, h.weight == best.weight &&
			l.content(h.final).Less(l.content(best.final)):
			best = h
		}
	}
	return best.final
}

// keepVariables keeps the VARs and DATASECs of linked units.
func (l *linker) keepVariables() {
	for name, any := range l.seen.variables.byName {
		if any == 0 {
			continue
		}
		for _, h := range l.holdersNamed(types.KindVar, types.Str(name)) {
			if h.linked {
				n := &l.nodes[l.nodeOf(h.final)]
				l.encodedAs(h.final, l.make(made{kind: types.KindVar, name: n.Name, aux: n.Aux, ref: h.ref}))
			}
		}
	}
	if l.linkedWeight == nil {
		return
	}
	for _, id := range l.seen.sections {
		if l.linkedWeight[id] != 0 && l.role[id] == plain {
			var vars []final
			for _, e := range l.g.ElemsOf(&l.nodes[id]) {
				vars = append(vars, final(e.Ref))
			}
			l.keepSection(id, vars)
		}
	}
	seen := map[types.Hash]bool{}
	for i := range l.attachments {
		a := &l.attachments[i]
		if l.nodes[a.node].Kind != types.KindDatasec {
			continue
		}
		refs := a.refs
		h := types.Start(types.KindDatasec, 0, 0, l.nodes[a.node].Hash, types.Hash{})
		var vars []final
		for _, e := range l.g.ElemsOf(&l.nodes[a.node]) {
			f := final(e.Ref)
			if l.role[e.Ref] != plain {
				f, refs = l.instFinal(refs[0]), refs[1:]
			}
			vars = append(vars, f)
			h.Elem(types.Hash{}, l.content(f), e.Val)
		}
		if sum := h.Sum(false); !seen[sum] {
			seen[sum] = true
			l.keepSection(a.node, vars)
		}
	}
}

// keepSection makes a DATASEC again, with its VARs as they are encoded.
func (l *linker) keepSection(id types.ID, vars []final) {
	n := &l.nodes[id]
	m := made{kind: types.KindDatasec, name: n.Name, size: n.Size}
	var elems []madeElem
	for i, e := range l.g.ElemsOf(n) {
		if v := l.encoded[vars[i]]; v != 0 {
			elems = append(elems, madeElem{0, v - 1, e.Val})
		}
	}
	l.make(m, elems...)
}

func (l *linker) checkSections() error {
	for i := range l.made {
		if m := &l.made[i]; m.kind == types.KindDatasec && len(l.elemsOf(m)) > btf.MaxVlen {
			return tooManyVariables(l.g.Strs.String(m.name), len(l.elemsOf(m)))
		}
	}
	return nil
}
