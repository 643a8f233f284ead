package btftext

import "github.com/rules-btf/rules_btf/internal/format/btf"

// body is a struct, union or enum as read.
type body struct {
	kind    btf.Kind
	size    uint32
	signed  bool // an enum
	members []member
	values  []btf.Enumerator
	tags    []tag
	pos     int
}

// member is a member of a struct or union. The offset is from the start of the outermost struct.
type member struct {
	name, typ uint32
	offset    uint64 // in bits
	size      uint32 // in bits, of a bitfield; otherwise 0
	pos       int
}

// body reads a struct, union or enum from its size on.
func (r *reader) body(kind btf.Kind) body {
	b := body{kind: kind, pos: r.tok.pos, size: uint32(r.number(1<<32 - 1))}
	b.signed = kind.IsEnum() && r.acceptWord("signed")
	if kind.IsComposite() {
		b.tags = r.declTags(nil, btf.DeclTagWhole)
	}
	for r.expect('{'); r.err == nil && r.tok.kind != '}'; {
		if kind.IsComposite() {
			r.member(&b)
		} else {
			b.values = append(b.values, r.enumerator(&b))
		}
	}
	r.expect('}')
	return b
}

func (r *reader) member(b *body) {
	var d declaration
	m := member{pos: r.tok.pos, offset: r.offset()}
	r.declaration(&d, m.offset)
	m.name, m.typ = r.builder.Name(d.name), d.typ
	if r.accept(':') {
		m.size = uint32(r.number(0xff))
	}
	b.tags = r.declTags(b.tags, uint32(len(b.members)))
	b.members = append(b.members, m)
	r.expect(';')
}

func (r *reader) enumerator(b *body) btf.Enumerator {
	e := btf.Enumerator{NameOff: r.builder.Name(r.name())}
	r.expect('=')
	largest := uint64(1<<64 - 1)
	if b.kind == btf.KindEnum {
		largest = 1<<32 - 1
	}
	switch {
	case !b.signed:
		e.Value = r.number(largest)
	case r.accept('-'):
		e.Value = -r.number(largest/2 + 1)
	default:
		e.Value = r.number(largest / 2)
	}
	r.expect(',')
	return e
}

// elements adds the members or enumerators of a body to the blob, and returns a record without a
// name. From the members' offsets, base is subtracted.
func (r *reader) elements(b *body, base uint64) btf.Type {
	t := btf.Type{Kind: b.kind, SizeOrType: b.size, KFlag: b.signed}
	blob := r.builder.Blob
	if b.kind.IsEnum() {
		t.First, t.Vlen = uint32(len(blob.Enums)), uint32(len(b.values))
		blob.Enums = append(blob.Enums, b.values...)
		return t
	}
	for _, m := range b.members {
		t.KFlag = t.KFlag || m.size > 0
	}
	largest := uint64(1<<32 - 1)
	if t.KFlag {
		largest = 1<<24 - 1
	}
	t.First, t.Vlen = uint32(len(blob.Members)), uint32(len(b.members))
	for _, m := range b.members {
		offset := m.offset - base
		switch {
		case m.offset < base:
			r.failAt(m.pos, "the member is before the start of its struct or union")
		case offset > largest:
			r.failAt(m.pos, "the member is too far from the start of its struct or union")
		}
		blob.Members = append(blob.Members, btf.Member{NameOff: m.name, Type: m.typ,
			Offset: uint32(offset) | m.size<<24})
	}
	return t
}

// addBody adds a struct, union or enum without a name. If shared is set, it may be one that is in
// the blob already.
func (r *reader) addBody(b *body, base uint64, shared bool) uint32 {
	blob := r.builder.Blob
	members, values := len(blob.Members), len(blob.Enums)
	t := r.elements(b, base)
	r.buf = r.buf[:0]
	depth := 0
	for _, m := range blob.Members[members:] {
		depth = max(depth, r.nesting(m.Type))
		r.put(m.NameOff, m.Type, m.Offset)
	}
	for _, e := range blob.Enums[values:] {
		r.put(e.NameOff, uint32(e.Value), uint32(e.Value>>32))
	}
	for _, t := range b.tags {
		r.put(t.component, r.builder.Name(t.word), r.builder.Name(t.text))
	}
	id, isNew := r.unique(t, depth+1, b.pos, shared)
	if isNew {
		r.addTags(id, b.tags)
	} else {
		blob.Members, blob.Enums = blob.Members[:members], blob.Enums[:values]
	}
	return id
}
