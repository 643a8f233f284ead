// Package dump prints BTF record by record, each type with its id.
//
// The text is byte for byte what bpftool btf dump prints with format raw, except that control
// characters in names are escaped. (For inline sites, which released versions of bpftool can't
// read, it follows the kernel's selftests.)
package dump

import (
	"cmp"
	"io"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Raw prints b's own types, without those of its bases. Bad references and names are not errors.
func Raw(w io.Writer, b *btf.Blob) error {
	p := printer{w: w, blob: b, plain: true}
	for of := b; of != nil; of = of.Base {
		p.plain = p.plain && message.AllPrintable(of.Strings)
	}
	for i := range b.Types {
		p.record(b.StartID+uint32(i), &b.Types[i], b)
	}
	return p.flush()
}

// Some prints the types with these ids, which must exist in b or its bases.
func Some(w io.Writer, b *btf.Blob, ids []uint32) error {
	p := printer{w: w, blob: b}
	for _, id := range ids {
		t, at := b.ByID(id)
		p.record(id, t, at)
	}
	return p.flush()
}

const chunk = 1 << 18

type printer struct {
	w     io.Writer
	err   error
	buf   []byte
	blob  *btf.Blob // ids and names are looked up in it
	plain bool      // no name needs escapes
}

func (p *printer) flush() error {
	if p.err == nil && len(p.buf) > 0 {
		_, p.err = p.w.Write(p.buf)
	}
	p.buf = p.buf[:0]
	return p.err
}

// str appends a text; num appends a text and then a number.
func (p *printer) str(s string) { p.buf = append(p.buf, s...) }

func (p *printer) num(s string, n uint32) {
	p.buf = strconv.AppendUint(append(p.buf, s...), uint64(n), 10)
}

func (p *printer) quoted(before string, nameOff uint32) {
	name := "(anon)"
	if nameOff != 0 {
		var err error
		if name, err = p.blob.Name(nameOff); err != nil {
			name = "(invalid)"
		}
	}
	if !p.plain {
		name = message.Printable(name)
	}
	p.buf = append(append(append(p.buf, before...), name...), '\'')
}

// record prints one type. The parameter at is the blob whose arenas hold the type's elements.
// Rule: dump: BTF as text, record by record. Source: bpftool btf.c dump_btf_type.
func (p *printer) record(id uint32, t *btf.Type, at *btf.Blob) {
	p.num("[", id)
	p.str("] ")
	p.str(t.Kind.String())
	p.quoted(" '", t.NameOff)
	switch t.Kind {
	case btf.KindInt:
		p.num(" size=", t.SizeOrType)
		p.num(" bits_offset=", t.Extra>>16&0xff)
		p.num(" nr_bits=", t.Extra&0xff)
		p.str(" encoding=")
		p.str(cmp.Or(encodings[t.Extra>>24&0xf], "UNKN"))
	case btf.KindArray:
		a := at.ArrayOf(t)
		p.num(" type_id=", a.Elem)
		p.num(" index_type_id=", a.Index)
		p.num(" nr_elems=", a.Nelems)
	case btf.KindStruct, btf.KindUnion:
		p.members(t, at)
	case btf.KindEnum, btf.KindEnum64:
		p.enumerators(t, at)
	case btf.KindFwd:
		p.str(" fwd_kind=")
		if t.KFlag {
			p.str("union")
		} else {
			p.str("struct")
		}
	case btf.KindFunc:
		p.num(" type_id=", t.SizeOrType)
		p.str(" linkage=")
		p.str(linkage(t.Vlen))
	case btf.KindFuncProto:
		p.num(" ret_type_id=", t.SizeOrType)
		p.num(" vlen=", t.Vlen)
		for _, a := range at.ParamsOf(t) {
			p.quoted("\n\t'", a.NameOff)
			p.num(" type_id=", a.Type)
		}
	case btf.KindVar:
		p.num(" type_id=", t.SizeOrType)
		p.str(", linkage=")
		p.str(linkage(t.Extra))
	case btf.KindDatasec:
		p.variables(t, at)
	case btf.KindFloat:
		p.num(" size=", t.SizeOrType)
	case btf.KindDeclTag:
		p.num(" type_id=", t.SizeOrType)
		p.str(" component_idx=")
		p.buf = strconv.AppendInt(p.buf, int64(int32(t.Extra)), 10)
	case btf.KindLocParam:
		p.locParam(t, at)
	case btf.KindLocProto:
		p.locProto(t, at)
	case btf.KindLocsec:
		p.locsec(t, at)
	default: // PTR, TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG
		p.num(" type_id=", t.SizeOrType)
	}
	p.str("\n")
	if len(p.buf) >= chunk {
		p.flush()
	}
}

func (p *printer) members(t *btf.Type, at *btf.Blob) {
	p.num(" size=", t.SizeOrType)
	p.num(" vlen=", t.Vlen)
	for _, m := range at.MembersOf(t) {
		offset, bits := m.Bits(t.KFlag)
		p.quoted("\n\t'", m.NameOff)
		p.num(" type_id=", m.Type)
		p.num(" bits_offset=", offset)
		if bits != 0 {
			p.num(" bitfield_size=", bits)
		}
	}
}

func (p *printer) enumerators(t *btf.Type, at *btf.Blob) {
	suffix := ""
	if t.KFlag {
		p.str(" encoding=SIGNED")
	} else {
		p.str(" encoding=UNSIGNED")
	}
	if t.Kind == btf.KindEnum64 {
		suffix = "ULL"
		if t.KFlag {
			suffix = "LL"
		}
	}
	p.num(" size=", t.SizeOrType)
	p.num(" vlen=", t.Vlen)
	for _, e := range at.EnumsOf(t) {
		p.quoted("\n\t'", e.NameOff)
		p.str(" val=")
		if t.KFlag {
			p.buf = strconv.AppendInt(p.buf, int64(e.Value), 10)
		} else {
			p.buf = strconv.AppendUint(p.buf, e.Value, 10)
		}
		p.str(suffix)
	}
}

func (p *printer) variables(t *btf.Type, at *btf.Blob) {
	p.num(" size=", t.SizeOrType)
	p.num(" vlen=", t.Vlen)
	for _, s := range at.SecinfosOf(t) {
		p.num("\n\ttype_id=", s.Type)
		p.num(" offset=", s.Offset)
		p.num(" size=", s.Size)
		if v, _ := p.blob.ByID(s.Type); v != nil {
			p.str(" (")
			p.str(v.Kind.String())
			p.quoted(" '", v.NameOff)
			p.str(")")
		}
	}
}

// encodings are the texts for the encodings of INTs.
var encodings = [16]string{0: "(none)", btf.IntSigned: "SIGNED", btf.IntChar: "CHAR",
	btf.IntBool: "BOOL"}

func linkage(n uint32) string {
	texts := [...]string{btf.LinkageStatic: "static", btf.LinkageGlobal: "global",
		btf.LinkageExtern: "extern"}
	if n < uint32(len(texts)) {
		return texts[n]
	}
	return "(unknown)"
}
