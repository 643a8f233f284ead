package btftext

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// newPrinter checks that the types of b and its bases can be written, and collects what has to be
// known about a type beyond its record.
func newPrinter(b *btf.Blob) (*printer, error) {
	end := b.EndID()
	p := &printer{blob: b, tags: map[uint32][]tag{}, used: make([]bool, end),
		numbers: make([]uint32, end), several: make([]bool, end)}
	for id := range end {
		t, o := b.ByID(id)
		if t == nil {
			continue
		}
		if err := p.check(t, o); err != nil {
			return nil, fmt.Errorf("BTF type [%d] %s: %w", id, b.KindName(t), err)
		}
		if t.Kind == btf.KindDeclTag {
			p.tags[t.SizeOrType] = append(p.tags[t.SizeOrType],
				tag{t.Extra, tagWord(t), p.name(t.NameOff)})
			continue
		}
		for ref := range o.Refs(t) {
			p.used[*ref] = true
		}
	}
	for id, tags := range p.tags {
		slices.SortFunc(tags, tag.compare)
		p.tags[id] = slices.Compact(tags)
	}
	return p, nil
}

// check checks that the record of a type has only what the text can express. The kernel refuses
// everything that check refuses, except sites of inlined functions.
func (p *printer) check(t *btf.Type, o *btf.Blob) error {
	if t.Kind.IsLocation() {
		return fmt.Errorf("the text has no form for sites of inlined functions")
	}
	for off := range o.Names(t) {
		if _, err := p.blob.Name(off); err != nil {
			return err
		}
	}
	for ref := range o.Refs(t) {
		to, _ := p.blob.ByID(*ref)
		if to == nil && *ref != 0 {
			return fmt.Errorf("it refers to [%d], which does not exist", *ref)
		}
		if !mayReferTo(t.Kind, to) {
			return fmt.Errorf("it must not refer to [%d] %s", *ref, p.blob.KindName(to))
		}
	}
	switch t.Kind {
	case btf.KindPtr, btf.KindArray, btf.KindConst, btf.KindVolatile, btf.KindRestrict,
		btf.KindFuncProto:
		if p.name(t.NameOff) != "" {
			return fmt.Errorf("types of this kind must not have a name")
		}
	case btf.KindInt:
		e := encoding(t.Extra)
		if e >= 1<<len(encodings) || t.Extra != e<<24|bitOffset(t.Extra)<<16|bits(t.Extra) {
			return fmt.Errorf("invalid encoding %#x", t.Extra)
		}
	case btf.KindFunc, btf.KindVar:
		if l := linkage(t); l >= uint32(len(linkages)) {
			return fmt.Errorf("invalid linkage %d", l)
		}
	case btf.KindDeclTag:
		to, _ := p.blob.ByID(t.SizeOrType)
		if t.Extra != btf.DeclTagWhole && t.Extra >= p.components(to) {
			return fmt.Errorf("component %d does not exist", t.Extra)
		}
	}
	return nil
}

func mayReferTo(from btf.Kind, to *btf.Type) bool {
	kind := btf.KindVoid
	if to != nil {
		kind = to.Kind
	}
	switch from {
	case btf.KindFunc:
		return kind == btf.KindFuncProto
	case btf.KindDatasec:
		return kind == btf.KindVar
	case btf.KindDeclTag:
		return kind.IsComposite() || kind == btf.KindTypedef || kind == btf.KindFunc ||
			kind == btf.KindVar
	}
	return kind != btf.KindFunc && kind != btf.KindVar && kind != btf.KindDatasec &&
		kind != btf.KindDeclTag
}

// components returns how many members or parameters a tagged type has.
func (p *printer) components(t *btf.Type) uint32 {
	if t.Kind == btf.KindFunc {
		t, _ = p.blob.ByID(t.SizeOrType)
	}
	if t.Kind.IsComposite() || t.Kind == btf.KindFuncProto {
		return t.Vlen
	}
	return 0
}

// The parts of an INT's Extra.
func encoding(extra uint32) uint32  { return extra >> 24 }
func bitOffset(extra uint32) uint32 { return extra >> 16 & 0xff }
func bits(extra uint32) uint32      { return extra & 0xff }

func linkage(t *btf.Type) uint32 {
	if t.Kind == btf.KindFunc {
		return t.Vlen
	}
	return t.Extra
}
