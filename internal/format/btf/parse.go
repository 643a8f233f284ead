package btf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// FormatError says why bytes are not a BTF blob.
type FormatError struct {
	TypeID uint32 // the type being read, or 0 if none
	Offset int64  // in bytes from the start of the blob
	Msg    string
}

func (e *FormatError) Error() string {
	if e.TypeID != 0 {
		return fmt.Sprintf("BTF type [%d] at offset %#x: %s", e.TypeID, e.Offset, e.Msg)
	}
	return fmt.Sprintf("BTF at offset %#x: %s", e.Offset, e.Msg)
}

// damaged is like formatError, for bytes that no program writes.
func damaged(id uint32, off int, format string, args ...any) error {
	return formatError(id, off, format+message.Rebuild, args...)
}

func formatError(id uint32, off int, format string, args ...any) error {
	return &FormatError{id, int64(off), fmt.Sprintf(format, args...)}
}

// source reads words of either byte order at any alignment.
type source struct {
	data []byte
	swap bool // big endian
}

func (s source) u16(off int) uint16 {
	v := binary.LittleEndian.Uint16(s.data[off:])
	if s.swap {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (s source) u32(off int) uint32 {
	v := binary.LittleEndian.Uint32(s.data[off:])
	if s.swap {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// threeWords reads three words.
func (s source) threeWords(b *[12]byte) (x, y, z uint32) {
	x, y = binary.LittleEndian.Uint32(b[0:]), binary.LittleEndian.Uint32(b[4:])
	z = binary.LittleEndian.Uint32(b[8:])
	if s.swap {
		return bits.ReverseBytes32(x), bits.ReverseBytes32(y), bits.ReverseBytes32(z)
	}
	return x, y, z
}

// Parse reads a blob that is based on base (nil if it has no base); data is the whole blob. The
// header may have 24 bytes, 32 bytes (with or without a layout section), or more if the further
// bytes are 0. Both byte orders are read. The result keeps no reference to data. Errors are of type
// *FormatError, unless they are about the base.
func Parse(data []byte, base *Blob) (*Blob, error) {
	b, n, err := parsePrefix(data, base)
	if err != nil {
		return nil, err
	}
	return b, checkEnd(data, n)
}

// checkEnd checks that a blob of n bytes is all of data.
func checkEnd(data []byte, n int) error {
	if n != len(data) {
		return damaged(0, n, "the data continues for %s after the last section",
			message.Count(len(data)-n, "byte"))
	}
	return nil
}

// FunctionNames sets names[id] for each key of names that is the id of a FUNC in data or in base.
// It is faster than Parse, because it only skips from record to record.
func FunctionNames(data []byte, base *Blob, names map[uint32]string) error {
	for id := range names {
		if t, _ := base.ByID(id); t != nil && t.Kind == KindFunc {
			names[id] = base.TypeName(t)
		}
	}
	p, err := open(data, base)
	if err != nil {
		return err
	}
	if err := checkEnd(data, p.end); err != nil {
		return err
	}
	id := p.blob.StartID
	return p.walk(func(kind Kind, _, off int) {
		if kind == KindFunc {
			if _, ok := names[id]; ok {
				names[id] = p.name(p.u32(off))
			}
		}
		id++
	})
}

// Definitions calls yield with the kind, the linkage and the name of each function (FUNC) and
// variable (VAR) in data, a blob without a base. Like FunctionNames, it only skips over records.
func Definitions(data []byte, yield func(kind Kind, linkage uint32, name []byte)) error {
	p, err := open(data, nil)
	if err != nil {
		return err
	}
	if err := checkEnd(data, p.end); err != nil {
		return err
	}
	return p.walk(func(kind Kind, vlen, off int) {
		linkage := uint32(vlen)
		switch kind {
		case KindVar:
			linkage = p.u32(off + 12)
		case KindFunc:
		default:
			return
		}
		if at := p.u32(off); at < uint32(len(p.strings)) {
			name, _, _ := bytes.Cut(p.strings[at:], []byte{0})
			yield(kind, linkage, name)
		}
	})
}

// CountKinds counts the types in data, a blob that is based on base, by kind. Like FunctionNames,
// it only skips over records.
func CountKinds(data []byte, base *Blob) (counts [NumKinds]int, err error) {
	p, err := open(data, base)
	if err != nil {
		return counts, err
	}
	if err := checkEnd(data, p.end); err != nil {
		return counts, err
	}
	return counts, p.walk(func(kind Kind, _, _ int) { counts[kind]++ })
}

// ParseAll reads concatenated blobs, as linkers write them to .BTF, with or without zero bytes
// between them. Each blob is based on base, not on the ones before it. Empty data has no blobs.
func ParseAll(data []byte, base *Blob) ([]*Blob, error) {
	var all []*Blob
	for off := 0; off < len(data); {
		b, n, err := parsePrefix(data[off:], base)
		if err != nil {
			if fe, ok := err.(*FormatError); ok {
				fe.Offset += int64(off)
			}
			return nil, err
		}
		all = append(all, b)
		for off += n; off < len(data) && data[off] == 0; off++ {
		}
	}
	return all, nil
}

func parsePrefix(data []byte, base *Blob) (*Blob, int, error) {
	p, err := open(data, base)
	if err != nil {
		return nil, 0, err
	}
	p.blob.Strings = string(p.strings)
	p.blob.findEnds()
	if err := p.allocate(); err != nil {
		return nil, 0, err
	}
	p.blob.fill(p.source, p.from)
	return p.blob, p.end, nil
}

// ParseTypes reads the types in data, a blob without a base, into b, and reuses the memory of b.
// b.Strings stays empty. ParseTypes returns the checked string section, a slice of data.
func (b *Blob) ParseTypes(data []byte) (strings []byte, err error) {
	p, err := open(data, nil)
	if err != nil {
		return nil, err
	}
	if err := checkEnd(data, p.end); err != nil {
		return nil, err
	}
	old := *b
	*b = *p.blob
	b.Types, b.Members, b.Params = old.Types, old.Members, old.Params
	b.Enums, b.Secinfos, b.Arrays = old.Enums, old.Secinfos, old.Arrays
	b.Words, b.Sites = old.Words, old.Sites
	p.blob = b
	if err := p.allocate(); err != nil {
		return nil, err
	}
	b.fill(p.source, p.from)
	return p.strings, nil
}

// opened is a blob whose header has been read.
type opened struct {
	source        // ends where the types end
	blob    *Blob // without types and strings
	from    int   // where the types begin
	end     int   // where the blob ends
	strings []byte
	layout  []byte // the layout section
	others  uint32 // otherLayouts(layout)
}

// open reads the header of the blob at the start of data, and checks how its strings begin and end.
func open(data []byte, base *Blob) (p opened, err error) {
	p.source = source{data: data}
	h, end, err := parseHeader(&p.source)
	if err != nil {
		return p, err
	}
	b := &Blob{Order: binary.LittleEndian, StartID: 1, Base: base, Header: h}
	if p.swap {
		b.Order = binary.BigEndian
	}
	if base != nil {
		if base.Order != nil && base.Order != b.Order {
			return p, fmt.Errorf("the BTF is %v, but its base is %v; use the base for the same "+
				"machine", b.Order, base.Order)
		}
		if uint64(base.EndStr())+uint64(h.StrLen) > 1<<32-1 {
			return p, fmt.Errorf("BTF: the strings of the blob and its bases exceed 4 GiB")
		}
		b.StartID, b.BaseStrLen = base.EndID(), base.EndStr()
	}
	str := int(h.HdrLen) + int(h.StrOff)
	p.strings = data[str : str+int(h.StrLen)]
	switch n := len(p.strings); {
	case n == 0 && base == nil:
		return p, formatError(0, str,
			"the string section is empty, which is allowed only in split BTF; if this is split "+
				"BTF, pass its base with --base")
	case n == 0:
	case p.strings[n-1] != 0:
		return p, damaged(0, str+n-1, "the string section does not end with a NUL byte")
	case base == nil && p.strings[0] != 0:
		return p, formatError(0, str, "the string section does not begin with a NUL byte; this "+
			"looks like split BTF: pass its base with --base; or are a module and its base "+
			"swapped?")
	case base != nil && p.strings[0] == 0:
		// Split BTF has only strings that the base lacks, so it has no empty string.
		return p, formatError(0, str, "the string section begins with a NUL byte; this looks like BTF "+
			"without a base, such as the BTF of vmlinux: remove --base; or are a module and its "+
			"base swapped?")
	}
	p.blob, p.end, p.from = b, end, int(h.HdrLen)+int(h.TypeOff)
	if h.LayoutLen > 0 {
		p.layout = data[int(h.HdrLen)+int(h.LayoutOff):][:h.LayoutLen]
		p.others = otherLayouts(p.layout)
	}
	p.data = data[:p.from+int(h.TypeLen)]
	return p, nil
}

// name is the string at an offset, from the blob or its bases, or "" if there is none.
func (p *opened) name(off uint32) string {
	if i := int64(off) - int64(p.blob.BaseStrLen); i < 0 {
		name, _ := p.blob.Base.Name(off)
		return name
	} else if i < int64(len(p.strings)) {
		name, _, _ := bytes.Cut(p.strings[i:], []byte{0})
		return string(name)
	}
	return ""
}

// walk checks that every type record ends inside the type section. It calls f for each record, with
// its kind, its vlen and the offset at which it begins.
func (p *opened) walk(f func(kind Kind, vlen, off int)) error {
	id := p.blob.StartID
	for off, end := p.from, len(p.data); off < end; id++ {
		if end-off < 12 {
			return damaged(id, off, "the type section ends with %s, too few for a type (at "+
				"least 12)", message.Count(end-off, "byte"))
		}
		info := p.u32(off + 4)
		kind, vlen := Kind(info>>24&0x7f), int(info&MaxVlenWide)
		if kind == KindVoid || kind >= NumKinds || p.others>>kind&1 != 0 {
			return p.badKind(id, off, kind)
		}
		l := layout[kind]
		n := 12 + int(l.info) + int(l.elem)*vlen
		if end-off < n {
			return damaged(id, off, "%v with %s needs %d bytes, but the type section has only %d left",
				kind, message.Count(vlen, "element"), n, end-off)
		}
		f(kind, vlen, off)
		off += n
	}
	return nil
}

// allocate makes the arenas for all types.
func (p *opened) allocate() error {
	types := 0
	var elems [NumKinds]int
	err := p.walk(func(kind Kind, vlen, _ int) {
		types++
		if kind == KindArray {
			vlen = 1
		}
		elems[kind] += vlen
	})
	b := p.blob
	b.Types = emptied(b.Types, types)
	b.Members = emptied(b.Members, elems[KindStruct]+elems[KindUnion])
	b.Params = emptied(b.Params, elems[KindFuncProto])
	b.Enums = emptied(b.Enums, elems[KindEnum]+elems[KindEnum64])
	b.Secinfos = emptied(b.Secinfos, elems[KindDatasec])
	b.Arrays = emptied(b.Arrays, elems[KindArray])
	b.Words = emptied(b.Words, elems[KindLocParam]+elems[KindLocProto])
	b.Sites = emptied(b.Sites, elems[KindLocsec])
	return err
}

// emptied returns an empty slice with room for n elements. If s has enough room, it is reused.
func emptied[T any](s []T, n int) []T {
	if n > cap(s) {
		return make([]T, 0, n)
	}
	return s[:0]
}

// fill decodes the types that allocate has checked.
func (b *Blob) fill(s source, off int) {
	for off < len(s.data) {
		name, info, size := s.threeWords((*[12]byte)(s.data[off:]))
		t := Type{
			NameOff:    name,
			SizeOrType: size,
			Vlen:       info & MaxVlenWide,
			Kind:       Kind(info >> 24 & 0x7f),
			KFlag:      info>>31 != 0,
		}
		off += 12
		switch t.Kind {
		case KindInt, KindVar, KindDeclTag:
			t.Extra = s.u32(off)
			off += 4
		case KindLocParam:
			t.Extra = s.u32(off)
			off = b.words(&t, s, off+4)
		case KindLocProto:
			off = b.words(&t, s, off)
		case KindLocsec:
			off = b.sites(&t, s, off)
		case KindArray:
			t.First = uint32(len(b.Arrays))
			b.Arrays = append(b.Arrays, Array{s.u32(off), s.u32(off + 4), s.u32(off + 8)})
			off += 12
		case KindStruct, KindUnion:
			t.First = uint32(len(b.Members))
			b.Members = b.Members[:t.First+t.Vlen]
			members := b.MembersOf(&t)
			for i := range members {
				name, typ, offset := s.threeWords((*[12]byte)(s.data[off:]))
				members[i] = Member{name, typ, offset}
				off += 12
			}
		case KindFuncProto:
			t.First = uint32(len(b.Params))
			b.Params = b.Params[:t.First+t.Vlen]
			params := b.ParamsOf(&t)
			for i := range params {
				params[i] = Param{s.u32(off), s.u32(off + 4)}
				off += 8
			}
		case KindEnum:
			t.First = uint32(len(b.Enums))
			for range t.Vlen {
				v := uint64(s.u32(off + 4))
				if t.KFlag {
					v = uint64(int64(int32(v)))
				}
				b.Enums = append(b.Enums, Enumerator{v, s.u32(off)})
				off += 8
			}
		case KindEnum64:
			t.First = uint32(len(b.Enums))
			for range t.Vlen {
				b.Enums = append(b.Enums, Enumerator{uint64(s.u32(off+4)) | uint64(s.u32(off+8))<<32,
					s.u32(off)})
				off += 12
			}
		case KindDatasec:
			t.First = uint32(len(b.Secinfos))
			for range t.Vlen {
				b.Secinfos = append(b.Secinfos, Secinfo{s.u32(off), s.u32(off + 4), s.u32(off + 8)})
				off += 12
			}
		}
		b.Types = append(b.Types, t)
	}
}
