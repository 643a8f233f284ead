package convert

import (
	std "debug/dwarf"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// btf_type_tag and btf_decl_tag have two encodings in DWARF. clang writes DW_TAG_LLVM_annotation
// children; gcc 16 writes a chain of DW_TAG_GNU_annotation entries, which starts with a reference
// in DW_AT_GNU_annotation. In both, DW_AT_name holds the kind of tag, DW_AT_const_value its text.
const (
	declTagName = "btf_decl_tag"
	typeTagName = "btf_type_tag"
)

// note holds the text of an annotation. u is the unit that contains the annotation: a partial unit
// if dwz has moved the annotation there.
type note struct {
	name
	u *unit
}

// annotations returns the texts of e's annotations of the given kind, in the order in which BTF
// chains type tags. gcc writes annotations in this order, clang in the reverse order.
func (u *unit) annotations(e *dwarf.DIE, kind string) ([]note, error) {
	var list []note
	var c dwarf.DIE
	add := func(u *unit, c *dwarf.DIE) error {
		k, err := u.r.String(c, dwarf.Name)
		if err != nil || string(k) != kind {
			return err
		}
		n, err := u.name(c, dwarf.ConstValue)
		if err == nil && n.class != dwarf.ClassNone {
			list = append(list, note{n, u})
		}
		return err
	}
	for err := range u.r.Children(e, &c, dwarf.TagLLVMAnnotation) {
		if err == nil {
			err = add(u, &c)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Reverse(list)
	next, err := u.ref(e, dwarf.Annotation)
	for range maxChain {
		if err != nil || next.u == nil {
			break
		}
		if err = next.u.r.Read(next.off, &c); err != nil {
			break
		}
		if err = add(next.u, &c); err != nil {
			break
		}
		next, err = next.u.ref(&c, dwarf.Annotation)
	}
	return list, err
}

// typeTags returns the type tags of a pointer, in the order that they have in BTF.
// Rule: type tags in the DWARF. Source: pahole dwarf_loader.c die__create_new_btf_type_tag_type.
func (u *unit) typeTags(e *dwarf.DIE) ([]note, error) {
	if !u.c.in.has(features.TypeTag) || !e.Children && !e.Has(dwarf.Annotation) {
		return nil, nil
	}
	return u.annotations(e, typeTagName)
}

// declTags adds a DECL_TAG for each annotation of e. target is the tagged type; index is the index
// of the tagged member or parameter, or -1 for the whole type. The caller has locked the graph.
// Rule: declaration tags in the DWARF. Source: pahole dwarf_loader.c add_tag_annotation,
// add_gnu_annotation_chain.
func (u *unit) declTags(e *dwarf.DIE, target types.ID, index int) error {
	if !u.c.in.has(features.DeclTag) || (!e.Children && !e.Has(dwarf.Annotation)) {
		return nil
	}
	list, err := u.annotations(e, declTagName)
	if err != nil {
		return err
	}
	u.c.uncovered += len(list)
	for _, n := range list {
		value, err := n.u.intern(n.name)
		if err != nil {
			return err
		}
		u.c.current.add(item{id: u.c.store.g.Add(types.Node{Kind: types.KindDeclTag, Name: value,
			Ref: target, Aux: uint32(index + 1)}, nil)})
	}
	return nil
}

// annotated reports whether the struct or union e, or any of its members, may be annotated.
func (u *unit) annotated(e *dwarf.DIE) (bool, error) {
	if e.Has(dwarf.Annotation) {
		return true, nil
	}
	var c dwarf.DIE
	for err := range u.r.Children(e, &c, dwarf.TagLLVMAnnotation, std.TagMember) {
		if err != nil || c.Tag != std.TagMember || c.Children || c.Has(dwarf.Annotation) {
			return err == nil, err
		}
	}
	return false, nil
}

func (u *unit) memberDeclTags(d *desc, target types.ID) error {
	var c dwarf.DIE
	for i := range d.elems {
		m := &d.elems[i]
		if !m.noted {
			continue
		}
		if err := u.r.Read(m.die, &c); err != nil {
			return err
		}
		if err := u.declTags(&c, target, i); err != nil {
			return err
		}
	}
	return nil
}

// parameterDeclTags adds the DECL_TAGs of e's parameters. If places is not nil, it maps the index
// of each parameter in e to the parameter's index in the target, or to -1 if the target lacks it.
func (u *unit) parameterDeclTags(e *dwarf.DIE, target types.ID, places []int) error {
	if !u.c.in.has(features.DeclTag) {
		return nil
	}
	var c dwarf.DIE
	index := 0
	for err := range u.r.Children(e, &c, std.TagFormalParameter) {
		if err != nil {
			return err
		}
		at := index
		if places != nil {
			at = places[index]
		}
		if at >= 0 {
			if err := u.declTags(&c, target, at); err != nil {
				return err
			}
		}
		index++
	}
	return nil
}
