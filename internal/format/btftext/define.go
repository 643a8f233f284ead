package btftext

import (
	"fmt"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// printer writes the text of types to out.
type printer struct {
	blob *btf.Blob
	out  []byte
	err  error // the first error

	// These are by type id.
	tags    map[uint32][]tag // in the order of tag.compare
	used    []bool           // another type than a DECL_TAG refers to it
	several []bool           // other types have the same class and name
	numbers []uint32         // of the types in several; otherwise 0

	refs []uint32 // the types in several that define and declare have written references to

	function uint32   // the FUNC that is being written; its tags may be on parameters
	chain    []uint32 // a stack for declare
	depth    int      // how many types without a name enclose what is being written
	level    int      // how many bodies enclose the next one
	base     uint64   // what is added to the offsets in the next body, in bits
}

func (p *printer) fail(id uint32, format string, args ...any) {
	if p.err == nil {
		t, _ := p.blob.ByID(id)
		p.err = fmt.Errorf("BTF type [%d] %s: "+format,
			append([]any{id, p.blob.KindName(t)}, args...)...)
	}
}

// name returns a name that check has accepted.
func (p *printer) name(off uint32) string {
	name, _ := p.blob.Name(off)
	return name
}

func (p *printer) str(s string) { p.out = append(p.out, s...) }

func (p *printer) num(n uint64) { p.out = strconv.AppendUint(p.out, n, 10) }

// room reports whether the text is still short enough, and nothing else has failed.
func (p *printer) room(id uint32) bool {
	if len(p.out) > maxText {
		p.fail(id, tooLong)
	}
	return p.err == nil
}

// isRoot reports whether a type is not written inside of another one.
func (p *printer) isRoot(id uint32, t *btf.Type) bool {
	switch t.Kind {
	case btf.KindFunc, btf.KindDatasec, btf.KindTypedef, btf.KindInt, btf.KindFloat, btf.KindFwd:
		return true
	case btf.KindVar:
		return !p.used[id]
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		return p.name(t.NameOff) != "" || !p.used[id]
	}
	return false
}

// define writes the lines of a type that isRoot selects.
func (p *printer) define(id uint32, t *btf.Type, o *btf.Blob) {
	p.function, p.refs = 0, p.refs[:0]
	name := p.name(t.NameOff)
	switch t.Kind {
	case btf.KindFunc:
		p.function = id
		p.str("func " + linkages[t.Vlen])
		p.declare(t.SizeOrType, quoted(name))
		p.declTags(id, btf.DeclTagWhole)
	case btf.KindVar:
		p.str("var ")
		p.variable(id, t)
	case btf.KindDatasec:
		p.section(t, o)
	case btf.KindTypedef:
		p.str("typedef ")
		p.declare(t.SizeOrType, p.numbered(id, name))
		p.declTags(id, btf.DeclTagWhole)
	case btf.KindFwd:
		class, _ := classOf(t)
		p.str(prefixes[class] + p.numbered(id, name))
	case btf.KindInt:
		p.str("int " + p.numbered(id, name) + " ")
		p.integer(t)
	case btf.KindFloat:
		p.str("float " + p.numbered(id, name) + " ")
		p.num(uint64(t.SizeOrType))
	default:
		p.body(id, t, o)
	}
	p.str(";\n")
	p.room(id)
}

// numbered returns a type's name with the number of the type.
func (p *printer) numbered(id uint32, name string) string {
	if n := p.numbers[id]; n > 1 {
		return string(appendNumber(appendName(nil, name), n))
	}
	return quoted(name)
}

func (p *printer) integer(t *btf.Type) {
	p.num(uint64(t.SizeOrType))
	for i, word := range encodings {
		if encoding(t.Extra)>>i&1 != 0 {
			p.str(" " + word)
		}
	}
	if bitOffset(t.Extra) != 0 || uint64(bits(t.Extra)) != 8*uint64(t.SizeOrType) {
		p.str(" bits ")
		p.num(uint64(bits(t.Extra)))
	}
	if bitOffset(t.Extra) != 0 {
		p.str(" at ")
		p.num(uint64(bitOffset(t.Extra)))
	}
}

func (p *printer) variable(id uint32, t *btf.Type) {
	p.str(linkages[t.Extra])
	p.declare(t.SizeOrType, quoted(p.name(t.NameOff)))
	p.declTags(id, btf.DeclTagWhole)
}

func (p *printer) section(t *btf.Type, o *btf.Blob) {
	p.str("section " + quoted(p.name(t.NameOff)) + " ")
	p.num(uint64(t.SizeOrType))
	p.str(" {\n")
	p.level++
	for _, s := range o.SecinfosOf(t) {
		if !p.room(s.Type) {
			break
		}
		p.out = fmt.Appendf(p.out, "  %-6d %-6d ", s.Offset, s.Size)
		v, _ := p.blob.ByID(s.Type)
		p.variable(s.Type, v)
		p.str(";\n")
	}
	p.level--
	p.str("}")
}

// declTags writes the DECL_TAGs on a component of a type.
func (p *printer) declTags(id, component uint32) {
	for _, t := range p.tags[id] {
		if t.component == component {
			p.str(" " + t.word + "(" + quoted(t.text) + ")")
		}
	}
}
