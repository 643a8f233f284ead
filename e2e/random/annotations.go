package random

import (
	"debug/dwarf"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"
)

// What holds a tag: clang writes children of what it is a tag of, gcc a chain of references.
const (
	tagLLVMAnnotation dwarf.Tag  = 0x6000
	attrGNUAnnotation dwarf.Attr = 0x2139
	declTag, typeTag             = "btf_decl_tag", "btf_type_tag"
)

// annotations are the tags of a DIE, the outermost of a type's first.
func (i *debugInfo) annotations(d *die, name string) []string {
	var all []string
	add := func(a *die) {
		if value, ok := a.Val(dwarf.AttrConstValue).(string); ok && a.name() == name {
			all = append(all, value)
		}
	}
	for _, a := range d.children(tagLLVMAnnotation) {
		add(a)
	}
	slices.Reverse(all)
	for a := d; ; {
		next, ok := a.Val(attrGNUAnnotation).(dwarf.Offset)
		if a = i.at[next]; !ok || a == nil {
			return all
		}
		add(a)
	}
}

// withoutTags is what a pointer points to, without the type tags, which must be those of its DIE.
func (m *matcher) withoutTags(d *die, to btf.Type) (btf.Type, error) {
	var have []string
	for tag, ok := to.(*btf.TypeTag); ok; tag, ok = to.(*btf.TypeTag) {
		have, to = append(have, tag.Value), tag.Type
	}
	if want := m.info.annotations(d, typeTag); !slices.Equal(have, want) {
		return nil, fmt.Errorf("has the type tags %q, want %q", have, want)
	}
	return to, nil
}

// tagged is an error unless what a DIE declares has its declaration tags. It may have more: those of
// equal declarations in other units.
func (m *matcher) tagged(d *die, have []string) error {
	for _, want := range m.info.annotations(d, declTag) {
		if !slices.Contains(have, want) {
			return fmt.Errorf("has the declaration tags %q, want %q", have, want)
		}
	}
	return nil
}

// functionTags is an error unless a function has the declaration tags of a DIE, and its parameters
// have theirs.
func (m *matcher) functionTags(d *die, f *btf.Func) error {
	if err := m.tagged(m.info.find(d, dwarf.AttrName), f.Tags); err != nil {
		return err
	}
	for i, p := range d.children(dwarf.TagFormalParameter) {
		var have []string
		if i < len(f.ParamTags) {
			have = f.ParamTags[i]
		}
		if origin, ok := p.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
			p = m.info.at[origin]
		}
		if err := m.tagged(p, have); err != nil {
			return fmt.Errorf("parameter %d: %w", i, err)
		}
	}
	return nil
}
