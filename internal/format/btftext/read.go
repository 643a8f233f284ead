package btftext

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Read reads a text. Spaces, line breaks and the order of the definitions don't matter, except that
// the first line must be exactly as Write writes it. Errors begin with the number of the line.
func Read(data []byte) (*btf.Blob, error) {
	if len(data) > maxText {
		return nil, fmt.Errorf("more than the limit of %d bytes", maxText)
	}
	r := &reader{lexer: lexer{text: string(data)}, graph: newGraph()}
	r.header()
	if i := strings.IndexByte(r.text, 0); i >= 0 {
		r.failAt(i, "NUL byte")
	}
	r.next()
	for r.err == nil && !r.acceptWord("end") {
		r.definition()
		r.expect(';')
	}
	r.end()
	r.checkDefined()
	if r.err != nil {
		return nil, r.err
	}
	return r.builder.Finish(), nil
}

type reader struct {
	lexer
	*graph
	index     uint32     // the type of indices of arrays that have no other one
	operators []operator // a stack for declaration
	depth     int        // how deep declarations are nested in each other
	count     uint64     // of definitions
}

// header reads the first line, and sets what it says about the blob.
func (r *reader) header() {
	if !strings.HasPrefix(r.text, Magic) {
		r.failAt(0, "not BTF as text, which begins with %q", Magic)
		return
	}
	line, _, _ := strings.Cut(r.text, "\n")
	if strings.HasSuffix(line, "\r") {
		r.failAt(0, "the line ends with a carriage return; convert the file to Unix line ends")
		return
	}
	if v, _, _ := strings.Cut(line[len(Magic):], ","); v != version {
		r.failAt(0, "unknown version %q, expected %s; make the file again, or use the tool that "+
			"made it", v, version)
		return
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, pointer := range []uint32{4, 8} {
			if line+"\n" == header(order, pointer) {
				r.builder.Blob.Order, r.builder.Blob.Origin.AddrSize = order, int(pointer)
				r.pos = len(line)
				return
			}
		}
	}
	r.failAt(0, "expected a line like %q", strings.TrimSuffix(header(binary.LittleEndian, 8), "\n"))
}

// definition reads a type that is not part of another one, without the semicolon.
func (r *reader) definition() {
	start := r.tok
	if start.kind == atEnd {
		r.failAt(start.pos, "the last line, such as \"end 12;\", is missing; is the file complete?")
		return
	}
	if start.kind != word {
		r.expected(definitions)
		return
	}
	if start.text == "index" {
		r.next()
		r.setIndex()
		return
	}
	r.count++
	switch start.text {
	case "func":
		r.next()
		r.function()
	case "var":
		r.next()
		r.variable()
	case "section":
		r.next()
		r.section()
	case "struct", "union", "enum", "enum64":
		r.next()
		r.tagged(start)
	case "typedef":
		r.next()
		d := declaration{of: btf.KindTypedef, number: 1}
		r.declaration(&d, 0)
		id := r.define(key{ordinary, d.name, d.number}, start.pos,
			btf.Type{Kind: btf.KindTypedef, SizeOrType: d.typ})
		r.addTags(id, r.declTags(nil, btf.DeclTagWhole))
	case "int", "float":
		r.next()
		k := r.numbered(ordinary)
		t := btf.Type{Kind: btf.KindFloat, SizeOrType: uint32(r.number(1<<32 - 1))}
		if start.text == "int" {
			t.Kind = btf.KindInt
			t.Extra = r.integer(t.SizeOrType)
		}
		r.define(k, start.pos, t)
	default:
		r.expected(definitions)
	}
}

const definitions = "a definition: index, func, var, section, struct, union, enum, enum64, " +
	"typedef, int or float"

// end reads the number of definitions, which shows that none is missing, and the end of the file.
func (r *reader) end() {
	pos := r.tok.pos
	if n := r.number(1<<64 - 1); r.err == nil && n != r.count {
		r.failAt(pos, "the file has %s, but according to this line, there should be %d; "+
			"make the file again", message.Count(int(r.count), "definition"), n)
	}
	r.expect(';')
	if r.err == nil && r.tok.kind != atEnd {
		r.expected("the end of the file")
	}
}

// setIndex reads the usual type of indices.
func (r *reader) setIndex() {
	pos := r.tok.pos
	id, anonymous := r.first()
	if id == 0 || anonymous != nil {
		r.failAt(pos, "expected a type with a name")
	}
	if r.index != 0 {
		r.failAt(pos, "index is defined twice")
	}
	r.index = id
}

// numbered reads a type's name, which may be followed by a number.
func (r *reader) numbered(of class) key {
	return key{of, r.name(), r.variant()}
}

// variant reads the number after a type's name, if there is one.
func (r *reader) variant() uint32 {
	if !r.accept('#') {
		return 1
	}
	pos := r.tok.pos
	n := r.number(1<<32 - 1)
	if n < 2 {
		r.failAt(pos, "expected a number from 2 on after #, found %d", n)
	}
	return uint32(n)
}

// define gives a type its definition. The parameter pos is where the definition begins.
func (r *reader) define(k key, pos int, t btf.Type) uint32 {
	if r.err != nil {
		return 0
	}
	id := r.named(k, pos)
	old := &r.builder.Blob.Types[id-1]
	if old.Kind != btf.KindVoid {
		r.failAt(pos, "%s is defined twice", appendKey(nil, k))
	}
	t.NameOff = r.builder.Name(k.name)
	*old = t
	return id
}

// checkDefined reports the first reference to a type that is not defined.
func (r *reader) checkDefined() {
	for _, u := range r.uses {
		if r.builder.Blob.Types[u.id-1].Kind == btf.KindVoid {
			r.failAt(u.pos, "%s is not defined in this file; is the file complete?",
				appendKey(nil, u.key))
		}
	}
}

// tagged reads a struct, union or enum. The parameter keyword is the token before the current one.
func (r *reader) tagged(keyword token) {
	kind := tagKinds[keyword.text]
	if r.tok.kind == number { // no name
		body := r.body(kind)
		r.addBody(&body, 0, false)
		return
	}
	class, _ := classOf(&btf.Type{Kind: kind})
	k := r.numbered(class)
	if kind.IsComposite() && r.tok.kind == ';' {
		r.define(k, keyword.pos, btf.Type{Kind: btf.KindFwd, KFlag: kind == btf.KindUnion})
		return
	}
	body := r.body(kind)
	t := r.elements(&body, 0)
	r.addTags(r.define(k, keyword.pos, t), body.tags)
}

var tagKinds = map[string]btf.Kind{"struct": btf.KindStruct, "union": btf.KindUnion,
	"enum": btf.KindEnum, "enum64": btf.KindEnum64}
