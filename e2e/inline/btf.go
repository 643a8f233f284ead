package inline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

// blob is BTF, with its base if it is split.
type blob struct {
	base    *blob
	order   binary.ByteOrder
	strings []byte
	types   []record
	firstID uint64 // the id of types[0]
	firstAt uint64 // the offset of strings[0]
}

// record is a type: the three words that all have, and the words that follow.
type record struct {
	name, kind, vlen, size uint64 // size is the third word, which may also be a type's id
	words                  []uint64
}

// wordsOf says how many words follow the first three: a number, and a number for each element.
var wordsOf = map[uint64][2]int{1: {1, 0}, 2: {0, 0}, 3: {3, 0}, 4: {0, 3}, 5: {0, 3}, 6: {0, 2},
	7: {0, 0}, 8: {0, 0}, 9: {0, 0}, 10: {0, 0}, 11: {0, 0}, 12: {0, 0}, 13: {0, 2}, 14: {1, 0},
	15: {0, 3}, 16: {0, 0}, 17: {1, 0}, 18: {0, 0}, 19: {0, 3}, 20: {1, 1}, 21: {0, 1}, 22: {0, 3}}

const (
	kindFunc, kindFuncProto             = 12, 13
	kindLocParam, kindLocProto, kindSec = 20, 21, 22
)

// BTFSites returns the sites in the last file, sorted. Each file has split BTF that is based on the
// one before.
func BTFSites(paths ...string) ([]*Site, error) {
	b, err := readBTF(paths...)
	if err != nil {
		return nil, err
	}
	return b.sites()
}

// readBTF reads the files with BTF. Each is split BTF that is based on the one before.
func readBTF(paths ...string) (*blob, error) {
	var b *blob
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if b, err = parseBTF(data, b); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return b, nil
}

func parseBTF(data []byte, base *blob) (*blob, error) {
	b := &blob{base: base, order: binary.LittleEndian, firstID: 1}
	if bytes.HasPrefix(data, []byte{0xeb, 0x9f}) {
		b.order = binary.BigEndian
	}
	if base != nil {
		b.firstID = base.firstID + uint64(len(base.types))
		b.firstAt = base.firstAt + uint64(len(base.strings))
	}
	h := &numbers{b.order, data, nil}
	if magic := h.uint(2); magic != 0xeb9f {
		return nil, fmt.Errorf("magic 0x%x", magic)
	}
	h.uint(2) // version and flags
	headerLen, typeAt, typeLen, stringsAt := h.uint(4), h.uint(4), h.uint(4), h.uint(4)
	stringsLen := h.uint(4)
	d := &numbers{b.order, data, h.err}
	d.bytes(headerLen + typeAt)
	types := &numbers{b.order, d.bytes(typeLen), nil}
	s := &numbers{b.order, data, nil}
	s.bytes(headerLen + stringsAt)
	b.strings = s.bytes(stringsLen)
	if d.err != nil || s.err != nil {
		return nil, fmt.Errorf("the sections are outside of the file")
	}
	for len(types.rest) > 0 && types.err == nil {
		name, info, size := types.uint(4), types.uint(4), types.uint(4)
		r := record{name: name, kind: info >> 24 & 0x1f, vlen: info & 0xffffff, size: size}
		n, ok := wordsOf[r.kind]
		if !ok {
			return nil, fmt.Errorf("type %d has kind %d", b.firstID+uint64(len(b.types)), r.kind)
		}
		words := &numbers{b.order, types.bytes(4 * (uint64(n[0]) + uint64(n[1])*r.vlen)), nil}
		for len(words.rest) > 0 {
			r.words = append(r.words, words.uint(4))
		}
		b.types = append(b.types, r)
	}
	return b, types.err
}

func (b *blob) text(at uint64) string {
	for ; b != nil; b = b.base {
		if at >= b.firstAt && at-b.firstAt < uint64(len(b.strings)) {
			s, _, _ := bytes.Cut(b.strings[at-b.firstAt:], []byte{0})
			return string(s)
		}
	}
	return ""
}

// typ returns a type that must be of a kind.
func (b *blob) typ(id, kind uint64) (record, error) {
	for ; b != nil; b = b.base {
		if id >= b.firstID && id-b.firstID < uint64(len(b.types)) {
			if r := b.types[id-b.firstID]; r.kind == kind {
				return r, nil
			}
			break
		}
	}
	return record{}, fmt.Errorf("type %d isn't of kind %d", id, kind)
}

// sites returns the sites in split BTF, sorted. A site whose function has other parameters than its
// LOC_PROTO is an error.
func (b *blob) sites() ([]*Site, error) {
	var all []*Site
	for id, sec := range b.types {
		if sec.kind != kindSec {
			continue
		}
		name, ok := bytes.CutPrefix([]byte(b.text(sec.name)), []byte("inline"))
		if !ok {
			return nil, fmt.Errorf("LOCSEC %d is named %q", b.firstID+uint64(id), b.text(sec.name))
		}
		for w := sec.words; len(w) > 0; w = w[3:] {
			s, err := b.site(w[0], w[1])
			if err != nil {
				return nil, err
			}
			s.Section, s.Offset = string(name), w[2]
			all = append(all, s)
		}
	}
	return sorted(all), nil
}

func (b *blob) site(function, locations uint64) (*Site, error) {
	f, err := b.typ(function, kindFunc)
	if err != nil {
		return nil, err
	}
	prototype, err := b.typ(f.size, kindFuncProto)
	if err != nil {
		return nil, err
	}
	proto, err := b.typ(locations, kindLocProto)
	if err != nil {
		return nil, err
	}
	s := &Site{Function: b.text(f.name)}
	params := prototype.vlen
	if params > 0 && prototype.words[2*params-1] == 0 {
		params-- // "…"
	}
	if proto.vlen != params {
		return nil, fmt.Errorf("%s has %d parameters, but LOC_PROTO %d has %d", s.Function, params,
			locations, proto.vlen)
	}
	for i, id := range proto.words {
		p := Param{Text: "?", Name: b.text(prototype.words[2*i])}
		if id != 0 {
			loc, err := b.typ(id, kindLocParam)
			if err != nil {
				return nil, err
			}
			p.Size = loc.size
			if p.Text, err = loc.location(); err != nil {
				return nil, fmt.Errorf("LOC_PARAM %d: %w", id, err)
			}
		}
		s.Params = append(s.Params, p)
	}
	return s, nil
}

// location returns the form of a LOC_PARAM. A constant must be extended to its words as the flag
// for signed values says.
func (r record) location() (string, error) {
	const signed, isConst, isAddress, isReg, deref, offset = 1, 2, 4, 8, 0x10, 0x20
	flags, values := r.words[0], r.words[1:]
	bad := fmt.Errorf("flags 0x%x with %d values", flags, len(values))
	number := func(w []uint64) uint64 { // one or two words
		if len(w) == 2 {
			return w[0] | w[1]<<32
		}
		if flags&signed != 0 {
			return uint64(int64(int32(w[0])))
		}
		return w[0]
	}
	if flags&isReg == 0 {
		if len(values) < 1 || len(values) > 2 || flags&(deref|offset) != 0 {
			return "", bad
		}
		switch v := number(values); {
		case flags&isConst == 0:
			return "", bad
		case flags&isAddress != 0 && len(values) == 2:
			return fmt.Sprintf("addr 0x%x", v), nil
		case flags&isAddress != 0:
			return "", bad
		default:
			text, cause := constant(v, r.size)
			if cause != "" {
				return "", fmt.Errorf("%s", cause)
			}
			return text, nil
		}
	}
	if flags&(isConst|isAddress) != 0 || len(values) == 0 {
		return "", bad
	}
	s := sum{to: register, register: values[0]}
	if s.register == 0xffffffff {
		s.to = frameBase
	}
	form := "reg "
	if flags&deref != 0 {
		form = "mem "
	}
	switch {
	case flags&offset != 0 && (len(values) == 2 || len(values) == 3):
		s.constant = number(values[1:])
		if s.constant == 0 { // a longer form of a location without an offset
			return form + s.String() + "+0", nil
		}
	case flags&offset != 0:
		return "", bad
	case len(values) == 2 && flags&deref == 0 && s.to == register:
		return fmt.Sprintf("regs %d %d", values[0], values[1]), nil
	case len(values) != 1:
		return "", bad
	}
	return form + s.String(), nil
}
