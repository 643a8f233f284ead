package verdict

import (
	"encoding/binary"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// records is a module's BTF as bytes, with the places of the types.
type records struct {
	*btf.Blob
	data []byte
	at   []int
}

func (m *module) records() records {
	r := records{Blob: m.types(), data: m.section(btf.SectionTypes)}
	at := int(r.Header.HdrLen + r.Header.TypeOff)
	for i := range r.Types {
		t := &r.Types[i]
		r.at = append(r.at, at)
		at += int(t.Kind.RecordLen(t.Vlen))
	}
	return r
}

// any returns the index of a type for which ok returns true, or -1.
func (m *module) any(r records, ok func(t *btf.Type) bool) int {
	var found []int
	for i := range r.Types {
		if ok(&r.Types[i]) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return -1
	}
	return found[m.rnd.IntN(len(found))]
}

// word returns the n-th word of a type's record.
func (r records) word(i, n int) []byte { return r.data[r.at[i]+4*n:] }

// otherVmlinux makes the BTF for a vmlinux with more or fewer types and strings.
func otherVmlinux(m *module) bool {
	b := m.types()
	from := 1 + m.rnd.Uint32N(b.StartID-1)
	more := pick(m.rnd, 1, 1+m.rnd.Uint32N(3000), ^m.rnd.Uint32N(3000)) // ^n is -1-n
	moreStrings := pick(m.rnd, 0, 4*m.rnd.Uint32N(3000), more*8)
	rename := func(off *uint32) {
		if *off >= b.BaseStrLen {
			*off += moreStrings
		}
	}
	for i := range b.Types {
		rename(&b.Types[i].NameOff)
		for ref := range b.Refs(&b.Types[i]) {
			if *ref >= from {
				*ref += more
			}
		}
	}
	for i := range b.Members {
		rename(&b.Members[i].NameOff)
	}
	for i := range b.Params {
		rename(&b.Params[i].NameOff)
	}
	for i := range b.Enums {
		rename(&b.Enums[i].NameOff)
	}
	return m.setTypes(b, btf.EncodeOptions{})
}

func bigEndian(m *module) bool {
	b := m.types()
	b.Order = binary.BigEndian
	return m.setTypes(b, btf.EncodeOptions{})
}

// header changes a field of the header.
func header(m *module) bool {
	data := m.section(btf.SectionTypes)
	if n := m.rnd.IntN(8); n < 2 {
		data[m.rnd.IntN(4)] ^= byte(1 + m.rnd.IntN(255)) // magic, version or flags
	} else {
		field := data[4*(n-1):]
		old := binary.LittleEndian.Uint32(field)
		binary.LittleEndian.PutUint32(field, pick(m.rnd, 0, old+1, old-1, old+4, old-4, old+8,
			m.rnd.Uint32(), 1<<32-1))
	}
	return m.set(btf.SectionTypes, data)
}

// longerHeader makes headers that are longer than usual, which some kernels read.
func longerHeader(m *module) bool {
	b := m.types()
	if m.rnd.IntN(2) == 0 {
		return m.setTypes(b, btf.EncodeOptions{Layout: true})
	}
	length := pick(m.rnd, 32, 40)
	m.setTypes(b, btf.EncodeOptions{HeaderLen: length})
	m.changed[btf.SectionTypes][length-1] = pick[byte](m.rnd, 0, 0, 1)
	return true
}

// stringsFirst puts the strings between the header and the types. They are padded with NULs, so
// that the types are aligned.
func stringsFirst(m *module) bool {
	r := m.records()
	h := r.Header
	types := r.data[h.HdrLen:][h.TypeOff:][:h.TypeLen]
	names := append([]byte(r.Strings), make([]byte, -len(r.Strings)&3)...)
	head := r.data[:h.HdrLen:h.HdrLen]
	for n, x := range []int{len(names), len(types), 0, len(names)} {
		binary.LittleEndian.PutUint32(head[8+4*n:], uint32(x))
	}
	return h.LayoutLen == 0 && m.set(btf.SectionTypes, append(append(head, names...), types...))
}

func unknownKind(m *module) bool {
	r := m.records()
	r.word(m.rnd.IntN(len(r.Types)), 1)[3] = pick[byte](m.rnd, 0, byte(m.rnd.IntN(20)), 20, 31, 127)
	return m.set(btf.SectionTypes, r.data)
}

func vlen(m *module) bool {
	r := m.records()
	info := r.word(m.rnd.IntN(len(r.Types)), 1)
	info[m.rnd.IntN(3)] ^= pick[byte](m.rnd, 1, 1, 3, 128)
	return m.set(btf.SectionTypes, r.data)
}

func kindFlag(m *module) bool {
	r := m.records()
	r.word(m.rnd.IntN(len(r.Types)), 1)[3] ^= 0x80
	return m.set(btf.SectionTypes, r.data)
}

func nameOffset(m *module) bool {
	r := m.records()
	binary.LittleEndian.PutUint32(r.word(m.rnd.IntN(len(r.Types)), 0), pick(m.rnd, 0, r.EndStr()-1,
		r.EndStr(), r.EndStr()+m.rnd.Uint32N(100), m.rnd.Uint32N(r.EndStr()), 1<<31))
	return m.set(btf.SectionTypes, r.data)
}

// nameByte changes a byte of the module's strings.
func nameByte(m *module) bool {
	r := m.records()
	if len(r.Strings) < 2 {
		return false
	}
	names := r.data[r.Header.HdrLen+r.Header.StrOff:]
	names[m.rnd.IntN(len(r.Strings)-1)] = pick[byte](m.rnd, 0, ' ', '-', '0', '.', '\n', 0x80, 0xff)
	return m.set(btf.SectionTypes, r.data)
}

// size changes a size, the encoding of an integer, or the offset of a member.
func size(m *module) bool {
	r := m.records()
	i := m.any(r, func(t *btf.Type) bool { return t.Kind.HasSize() })
	if i < 0 {
		return false
	}
	t := &r.Types[i]
	field := r.word(i, 2)
	if n := m.rnd.IntN(3); n > 0 && t.Kind == btf.KindInt {
		field = r.word(i, 3)
	} else if n > 0 && t.Kind.IsComposite() && t.Vlen > 0 {
		field = r.word(i, 3+3*m.rnd.IntN(int(t.Vlen))+2)
	}
	old := binary.LittleEndian.Uint32(field)
	binary.LittleEndian.PutUint32(field, pick(m.rnd, 0, 1, old+1, old-1, old/2, old*2, old+64,
		m.rnd.Uint32()))
	return m.set(btf.SectionTypes, r.data)
}

// id changes the id of a type to which another type refers.
func id(m *module) bool {
	b := m.types()
	t := &b.Types[m.rnd.IntN(len(b.Types))]
	n := uint32(0)
	if t.Kind.IsComposite() && t.Vlen > 0 {
		n = m.rnd.Uint32N(t.Vlen)
	}
	ref := b.Ref(t, n)
	if ref == nil {
		return false
	}
	*ref = pick(m.rnd, 0, b.EndID(), b.EndID()+m.rnd.Uint32N(1000), b.EndID()-1, btf.MaxTypeID,
		btf.MaxTypeID+1, 1<<31, m.rnd.Uint32N(b.EndID()), b.StartID+m.rnd.Uint32N(uint32(len(b.Types))))
	return m.setTypes(b, btf.EncodeOptions{})
}

// variable changes a word of a DATASEC or a VAR.
func variable(m *module) bool {
	r := m.records()
	i := m.any(r, func(t *btf.Type) bool {
		return t.Kind == btf.KindVar || t.Kind == btf.KindDatasec
	})
	if i < 0 {
		return false
	}
	t := &r.Types[i]
	field := r.word(i, 2+m.rnd.IntN(int(t.Kind.RecordLen(t.Vlen))/4-2))
	old := binary.LittleEndian.Uint32(field)
	binary.LittleEndian.PutUint32(field, pick(m.rnd, 0, 1, 2, old+1, old-1, m.rnd.Uint32()))
	return m.set(btf.SectionTypes, r.data)
}

// newerType adds a type that older kernels don't know.
func newerType(m *module) bool {
	b := m.types()
	next := b.EndID()
	name := uint32(0)
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind == btf.KindFunc || t.Kind.IsComposite() {
			name = t.NameOff
		}
	}
	if name == 0 {
		return false
	}
	add := func(t btf.Type) { b.Types = append(b.Types, t) }
	switch m.rnd.IntN(6) {
	case 0:
		add(btf.Type{Kind: btf.KindEnum64, NameOff: name, SizeOrType: 8})
	case 1:
		add(btf.Type{Kind: btf.KindEnum, NameOff: name, SizeOrType: 4, KFlag: true})
	case 2: // a type tag after a modifier
		add(btf.Type{Kind: btf.KindConst, SizeOrType: next + 1})
		add(btf.Type{Kind: btf.KindTypeTag, NameOff: name, SizeOrType: 1})
	case 3:
		add(btf.Type{Kind: btf.KindTypeTag, NameOff: name, SizeOrType: 1, KFlag: m.rnd.IntN(2) == 0})
	case 4:
		add(btf.Type{Kind: btf.KindDeclTag, NameOff: name, SizeOrType: 1, Extra: btf.DeclTagWhole,
			KFlag: m.rnd.IntN(2) == 0})
	case 5: // a long name
		add(btf.Type{Kind: btf.KindTypedef, NameOff: b.EndStr(), SizeOrType: 1})
		b.Strings += strings.Repeat("n", pick(m.rnd, 127, 128, 500, 511, 512)) + "\x00"
	}
	return m.setTypes(b, btf.EncodeOptions{})
}
