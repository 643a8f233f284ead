package btftext

import (
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// keywords precede the sizes of types that have a body.
var keywords = [btf.NumKinds]string{btf.KindStruct: "struct ", btf.KindUnion: "union ",
	btf.KindEnum: "enum ", btf.KindEnum64: "enum64 "}

// body writes a struct, union or enum, from its keyword to its closing brace.
func (p *printer) body(id uint32, t *btf.Type, o *btf.Blob) {
	p.str(keywords[t.Kind])
	if name := p.name(t.NameOff); name != "" {
		p.str(p.numbered(id, name) + " ")
	} else if !p.deeper(id) {
		return
	} else {
		defer func() { p.depth-- }()
	}
	p.num(uint64(t.SizeOrType))
	if t.Kind.IsEnum() && t.KFlag {
		p.str(" signed")
	}
	p.declTags(id, btf.DeclTagWhole)
	p.str(" {\n")
	if t.Kind.IsEnum() {
		p.enumerators(id, t, o)
	} else {
		p.members(id, t, o)
	}
	p.indent(p.level)
	p.str("}")
}

// deeper enters a type without a name, unless the nesting is too deep.
func (p *printer) deeper(id uint32) bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(id, "more than %d types without a name are nested in each other", maxDepth)
	}
	return p.room(id)
}

// indent begins a line that has no offset, in front of the text at a level. There, the column with
// the offsets of the outermost type is empty.
func (p *printer) indent(level int) {
	if level > 0 {
		p.str("       ")
	}
	for range level {
		p.str("  ")
	}
}

func (p *printer) enumerators(id uint32, t *btf.Type, o *btf.Blob) {
	for _, e := range o.EnumsOf(t) {
		if !p.room(id) {
			return
		}
		p.indent(p.level)
		p.str("  ")
		p.out = append(appendName(p.out, p.name(e.NameOff)), " = "...)
		if t.KFlag {
			p.out = strconv.AppendInt(p.out, int64(e.Value), 10)
		} else {
			p.num(e.Value)
		}
		p.str(",\n")
	}
}

func (p *printer) members(id uint32, t *btf.Type, o *btf.Blob) {
	base, level := p.base, p.level
	p.level++
	for i, m := range o.MembersOf(t) {
		if !p.room(id) {
			break
		}
		offset, size := m.Bits(t.KFlag)
		p.base = base + uint64(offset)
		p.offset(p.base, size > 0)
		for range level {
			p.str("  ")
		}
		name := p.name(m.NameOff)
		if name != "" {
			name = quoted(name)
		}
		p.declare(m.Type, name)
		if size > 0 {
			p.str(" : ")
			p.num(uint64(size))
		}
		p.declTags(id, uint32(i))
		p.str(";\n")
	}
	p.base, p.level = base, level
}

// offset writes the offset at the beginning of a line: bytes, and bits if there are any or if the
// member is a bitfield.
func (p *printer) offset(bits uint64, bitfield bool) {
	p.str("  ")
	start := len(p.out)
	p.num(bits / 8)
	if bitfield || bits%8 != 0 {
		p.str(".")
		p.num(bits % 8)
	}
	for len(p.out) < start+6 {
		p.str(" ")
	}
	p.str(" ")
}
