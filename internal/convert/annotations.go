package convert

import (
	std "debug/dwarf"
	"slices"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// The two spellings of btf_type_tag and btf_decl_tag: clang writes DW_TAG_LLVM_annotation children,
// gcc 16 a chain of DW_AT_GNU_annotation references to DW_TAG_GNU_annotation entries. Both give the
// kind of tag as DW_AT_name and its text as DW_AT_const_value.
const (
	declTagName = "btf_decl_tag"
	typeTagName = "btf_type_tag"
)

// annotations returns the texts of e's annotations of the given kind. clang's order is the reverse
// of the order in which BTF chains type tags after a pointer, gcc's is the same.
func (u *unit) annotations(e *dwarf.DIE, kind string) ([]name, error) {
	var list []name
	c := &u.c.note
	add := func(c *dwarf.DIE) error {
		k, err := u.r.String(c, dwarf.Name)
		if err != nil || string(k) != kind {
			return err
		}
		n, err := u.name(c, dwarf.ConstValue)
		if err == nil && n.class != dwarf.ClassNone {
			list = append(list, n)
		}
		return err
	}
	for err := range u.r.Children(e, c, dwarf.TagLLVMAnnotation) {
		if err == nil {
			err = add(c)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Reverse(list)
	next, err := u.ref(e, dwarf.Annotation)
	for range maxChain {
		if err != nil || next.u != u {
			break
		}
		if err = u.r.Read(next.off, c); err != nil {
			break
		}
		if err = add(c); err != nil {
			break
		}
		next, err = u.ref(c, dwarf.Annotation)
	}
	return list, err
}

// typeTags returns the type tags of a pointer, in the order in which they follow it.
func (u *unit) typeTags(e *dwarf.DIE) ([]name, error) {
	if !u.c.opt.Features.Has(features.TypeTag) || !e.Children && !e.Has(dwarf.Annotation) {
		return nil, nil
	}
	return u.annotations(e, typeTagName)
}

// declTags adds a DECL_TAG for each annotation of e to the graph, which is locked; target is what
// they belong to, index the member or parameter, -1 for the whole.
func (u *unit) declTags(e *dwarf.DIE, target types.ID, index int) error {
	if !u.c.opt.Features.Has(features.DeclTag) || (!e.Children && !e.Has(dwarf.Annotation)) {
		return nil
	}
	list, err := u.annotations(e, declTagName)
	if err != nil {
		return err
	}
	u.declTagged = u.declTagged || len(list) > 0
	for _, n := range list {
		value, err := u.intern(n)
		if err != nil {
			return err
		}
		u.c.addItem(item{id: u.c.g.Add(types.Node{Kind: types.KindDeclTag, Name: value, Ref: target,
			Aux: uint32(index + 1)}, nil)})
	}
	return nil
}

// elemDeclTags adds the DECL_TAGs of e's members or parameters. places, if there are any, say which
// one of the target each is, -1 for none.
func (u *unit) elemDeclTags(e *dwarf.DIE, tag std.Tag, target types.ID, places []int) error {
	if !u.c.opt.Features.Has(features.DeclTag) {
		return nil
	}
	var c dwarf.DIE
	index := 0
	for err := range u.r.Children(e, &c, tag) {
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
