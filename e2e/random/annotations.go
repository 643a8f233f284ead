package random

import (
	"debug/dwarf"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// Compilers describe tags in two ways: with clang, each tag is a child of the tagged DIE; with gcc,
// the tagged DIE refers to a chain of tags.
const (
	tagLLVMAnnotation dwarf.Tag  = 0x6000
	attrGNUAnnotation dwarf.Attr = 0x2139
	declTag, typeTag             = "btf_decl_tag", "btf_type_tag"
)

// annotations returns a DIE's declaration tags or type tags, as name says. Type tags are in the
// order of the BTF: the pointer refers to the first tag.
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

// withoutTags returns the type that follows the type tags to which a pointer refers. These tags
// must be those of the pointer's DIE.
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

// tagged returns an error unless the tags in the BTF (the parameter have) include all declaration
// tags of a DIE. The BTF may have more tags, from equal declarations in other units.
func (m *matcher) tagged(d *die, have []string) error {
	for _, want := range m.info.annotations(d, declTag) {
		if !slices.Contains(have, want) {
			return fmt.Errorf("has the declaration tags %q, want %q", have, want)
		}
	}
	return nil
}

// functionTags returns an error unless a function has the declaration tags of its DIE, and the
// function's parameters have those of the DIEs of the parameters.
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

// checkTags checks each declaration tag in the result: it must occur only once, and in the DWARF, a
// declaration with the same name must have the same tag.
func checkTags(b *Build) error {
	v := b.view()
	type tagOf struct{ name, tag string }
	said := map[tagOf]bool{}
	for _, unit := range v.info.units {
		unit.walk(func(d *die) {
			for _, tag := range v.info.annotations(d, declTag) {
				said[tagOf{v.info.nameOf(d), tag}] = true
			}
		})
	}
	var wrong []string
	check := func(what btf.Type, name string, tags []string) {
		for i, tag := range tags {
			if !said[tagOf{name, tag}] || slices.Contains(tags[:i], tag) {
				wrong = append(wrong, fmt.Sprintf("%s: no %q in the DWARF has the declaration tag %q, or the "+
					"result has it twice", content.Text(what), name, tag))
			}
		}
	}
	members := func(what btf.Type, list []btf.Member) {
		for _, m := range list {
			check(what, m.Name, m.Tags)
		}
	}
	for _, t := range v.types {
		switch t := t.(type) {
		case *btf.Struct:
			check(t, t.Name, t.Tags)
			members(t, t.Members)
		case *btf.Union:
			check(t, t.Name, t.Tags)
			members(t, t.Members)
		case *btf.Typedef:
			check(t, t.Name, t.Tags)
		case *btf.Var:
			check(t, t.Name, t.Tags)
		case *btf.Func:
			check(t, t.Name, t.Tags)
			for i, tags := range t.ParamTags {
				check(t, t.Type.(*btf.FuncProto).Params[i].Name, tags)
			}
		}
	}
	return list(wrong)
}
