package btftext

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// integer reads what follows an INT's size, and returns the record's Extra.
func (r *reader) integer(size uint32) uint32 {
	var extra uint32
	for i, word := range encodings {
		if r.acceptWord(word) {
			extra |= 1 << i << 24
		}
	}
	bits := 8 * uint64(size)
	if r.acceptWord("bits") {
		bits = r.number(0xff)
	} else if bits > 0xff {
		r.expected("bits and a number, because the size is more than 31 bytes")
	}
	if r.acceptWord("at") {
		extra |= uint32(r.number(0xff)) << 16
	}
	return extra | uint32(bits)
}

// linkage reads a word for a linkage.
func (r *reader) linkage() uint32 {
	for l, word := range linkages {
		if word != "" && r.acceptWord(strings.TrimSuffix(word, " ")) {
			return uint32(l)
		}
	}
	return btf.LinkageGlobal
}

func (r *reader) function() {
	linkage, d := r.linkage(), declaration{of: btf.KindFunc}
	pos := r.tok.pos
	r.declaration(&d, 0)
	if r.err == nil && (d.typ == 0 || r.builder.Blob.Types[d.typ-1].Kind != btf.KindFuncProto) {
		r.failAt(pos, "%s is not a function: expected parameters", quoted(d.name))
	}
	id := r.add(btf.Type{Kind: btf.KindFunc, NameOff: r.builder.Name(d.name), SizeOrType: d.typ,
		Vlen: linkage}, 0)
	r.addTags(id, r.declTags(d.tags, btf.DeclTagWhole))
}

// variable reads a variable and returns its id.
func (r *reader) variable() uint32 {
	linkage, d := r.linkage(), declaration{of: btf.KindVar}
	r.declaration(&d, 0)
	id := r.add(btf.Type{Kind: btf.KindVar, NameOff: r.builder.Name(d.name), SizeOrType: d.typ,
		Extra: linkage}, 0)
	r.addTags(id, r.declTags(nil, btf.DeclTagWhole))
	return id
}

func (r *reader) section() {
	name, size := r.name(), uint32(r.number(1<<32-1))
	var vars []btf.Secinfo
	for r.expect('{'); r.err == nil && r.tok.kind != '}'; r.expect(';') {
		offset, size := uint32(r.number(1<<32-1)), uint32(r.number(1<<32-1))
		vars = append(vars, btf.Secinfo{Type: r.variable(), Offset: offset, Size: size})
	}
	r.expect('}')
	b := r.builder.Blob
	t := btf.Type{Kind: btf.KindDatasec, NameOff: r.builder.Name(name), SizeOrType: size,
		First: uint32(len(b.Secinfos)), Vlen: uint32(len(vars))}
	b.Secinfos = append(b.Secinfos, vars...)
	r.add(t, 0)
}

// declTags reads DECL_TAGs on a component, and appends them to tags.
func (r *reader) declTags(tags []tag, component uint32) []tag {
	for r.is(declTag) || r.is(declAttr) {
		t := tag{component: component, word: r.tok.text}
		r.next()
		t.text = r.parenthesized()
		tags = append(tags, t)
	}
	return tags
}

// parenthesized reads a name in parentheses.
func (r *reader) parenthesized() string {
	r.expect('(')
	name := r.name()
	r.expect(')')
	return name
}
