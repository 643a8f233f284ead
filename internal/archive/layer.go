package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
	"github.com/rules-btf/rules_btf/internal/verify"
)

// layer is a file of an archive, read, on which others may stand. A nil layer has no types.
type layer struct {
	File
	blob *btf.Blob
	on   *layer
	tags map[tag]bool // that it defines; nil until they are asked for
}

// tag is the name of a struct, union or enum, with its namespace.
type tag struct {
	space types.Tag
	name  string
}

// newLayer reads raw BTF on another layer, checks it, and describes it.
func newLayer(name string, raw []byte, on *layer, rules verify.Options) (*layer, error) {
	b, err := btf.Parse(raw, on.base())
	if err != nil {
		return nil, err
	}
	if err := check(b, rules); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &layer{
		File: File{
			Name: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(raw)), Bases: on.chain(),
			StartID: b.StartID, StringOffset: b.BaseStrLen, Types: len(b.Types),
		},
		blob: b, on: on,
	}, nil
}

// base returns the layer's BTF, nil for no layer.
func (l *layer) base() *btf.Blob {
	if l == nil {
		return nil
	}
	return l.blob
}

// chain lists the layer and those on which it stands, the deepest first.
func (l *layer) chain() []Base {
	if l == nil {
		return []Base{}
	}
	return append(l.on.chain(), Base{l.Name, l.SHA256})
}

// countConflicts counts the tags that the layer defines, and of which it or a layer below has
// another definition. findTags must have been called for the layers below.
func (l *layer) countConflicts() int {
	seen, conflicts := map[tag]bool{}, map[tag]bool{}
	for x := range l.definitions {
		if seen[x] || l.on.defines(x) {
			conflicts[x] = true
		}
		seen[x] = true
	}
	return len(conflicts)
}

func (l *layer) defines(x tag) bool { return l != nil && (l.tags[x] || l.on.defines(x)) }

// findTags sets tags.
func (l *layer) findTags() {
	l.tags = map[tag]bool{}
	for x := range l.definitions {
		l.tags[x] = true
	}
}

// definitions calls yield for each definition of a tag. A name with several has several calls.
func (l *layer) definitions(yield func(tag) bool) {
	for i := range l.blob.Types {
		t := &l.blob.Types[i]
		declared := t.Kind.IsEnum() && t.Vlen == 0
		if !t.Kind.IsComposite() && !t.Kind.IsEnum() || t.NameOff == 0 || declared {
			continue
		}
		if !yield(tag{types.TagOf(types.Kind(t.Kind)), l.blob.TypeName(t)}) {
			return
		}
	}
}

// check tells why BTF can't be used: what the kernel refuses, and what shows that it was made on
// another base.
func check(b *btf.Blob, rules verify.Options) error {
	for i := range b.Types {
		t := &b.Types[i]
		id := b.StartID + uint32(i)
		for ref := range b.Refs(t) {
			if *ref >= b.EndID() {
				return fmt.Errorf("[%d] %v %s refers to [%d], the last one is [%d];"+
					" was it made on another base?", id, t.Kind, b.TypeName(t), *ref, b.EndID()-1)
			}
		}
		if b.Base == nil {
			continue
		}
		for off := range names(b, t) {
			if !beginsString(b, off) {
				return fmt.Errorf("[%d] %v: a name at string offset %d, where no string begins;"+
					" was it made on another base?", id, t.Kind, off)
			}
		}
	}
	found := verify.Check(b, rules)
	switch len(found) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the kernel refuses %v", found[0])
	}
	return fmt.Errorf("the kernel refuses %v (and %d more)", found[0], len(found)-1)
}

// names calls yield for each string offset of a type and its elements.
func names(b *btf.Blob, t *btf.Type) func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		if !yield(t.NameOff) {
			return
		}
		switch {
		case t.Kind.IsComposite():
			for _, m := range b.MembersOf(t) {
				if !yield(m.NameOff) {
					return
				}
			}
		case t.Kind.IsEnum():
			for _, e := range b.EnumsOf(t) {
				if !yield(e.NameOff) {
					return
				}
			}
		case t.Kind == btf.KindFuncProto:
			for _, p := range b.ParamsOf(t) {
				if !yield(p.NameOff) {
					return
				}
			}
		}
	}
}

// beginsString tells whether a string of a blob or its bases begins at an offset. Tools that write
// split BTF use whole strings of the base.
func beginsString(b *btf.Blob, off uint32) bool {
	for ; b != nil; b = b.Base {
		if off >= b.BaseStrLen {
			i := off - b.BaseStrLen
			return i < uint32(len(b.Strings)) && (i == 0 || b.Strings[i-1] == 0)
		}
	}
	return false
}
