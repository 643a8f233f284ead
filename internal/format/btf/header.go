package btf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// ReadHeader returns the header and the byte order of a blob; data is the whole blob. It doesn't
// read the types, so split BTF needs no base here. Errors are of type *FormatError.
func ReadHeader(data []byte) (Header, binary.ByteOrder, error) {
	s := source{data: data}
	h, end, err := parseHeader(&s)
	if err == nil {
		err = checkEnd(data, end)
	}
	if s.swap {
		return h, binary.BigEndian, err
	}
	return h, binary.LittleEndian, err
}

// Prefix returns the blob at the start of data; the lengths in the blob's header say where it ends.
// Errors are like those of ReadHeader.
func Prefix(data []byte) ([]byte, error) {
	_, end, err := parseHeader(&source{data: data})
	return data[:end], err
}

// parseHeader reads the header at the start of s.data, sets the byte order, and returns where the
// blob ends. As the kernel does (btf_parse_hdr, btf_check_sec_info), it requires that the sections
// follow the header, in any order, without gaps or overlaps, and that unknown header fields are 0.
// Rule: BTF header, layout section. Source: kernel btf_parse_hdr, btf_parse_layout_sec; libbpf
// btf_parse_layout_sec.
func parseHeader(s *source) (Header, int, error) {
	fail := func(off int, format string, args ...any) (Header, int, error) {
		return Header{}, 0, damaged(0, off, format, args...)
	}
	if len(s.data) < 2 {
		return fail(0, "cut off in the header, after %s", message.Count(len(s.data), "byte"))
	}
	switch magic := s.u16(0); magic {
	case Magic:
	case Magic>>8 | Magic&0xff<<8:
		s.swap = true
	default:
		if bytes.HasPrefix(s.data, []byte("BTFBASE\x00")) {
			return Header{}, 0, formatError(0, 0, "this is an index, which can only be a --base of "+
				"a link; pass the BTF itself")
		}
		if what := kindOfFile(s.data); what != "" {
			return Header{}, 0, formatError(0, 0, "no BTF magic 0xeb9f: this is %s", what)
		}
		return Header{}, 0, formatError(0, 0, "no BTF magic 0xeb9f; it starts with %q; pass BTF, "+
			"or a file that contains BTF", s.data[:min(4, len(s.data))])
	}
	if len(s.data) < 8 {
		return fail(0, "cut off in the header, after %s", message.Count(len(s.data), "byte"))
	}
	if v := s.data[2]; v != Version {
		return fail(2, "unknown BTF version %d", v)
	}
	if f := s.data[3]; f != 0 {
		return fail(3, "unknown header flags %#x", f)
	}
	h := Header{HdrLen: s.u32(4)}
	if h.HdrLen < HeaderLen {
		return fail(4, "header length %d is below the minimum of %d", h.HdrLen, HeaderLen)
	}
	if uint64(h.HdrLen) > uint64(len(s.data)) {
		return fail(4, "header length %d, but there are only %d bytes", h.HdrLen, len(s.data))
	}
	h.TypeOff, h.TypeLen, h.StrOff, h.StrLen = s.u32(8), s.u32(12), s.u32(16), s.u32(20)
	known := HeaderLen
	if h.HdrLen >= HeaderLenLayout {
		h.LayoutOff, h.LayoutLen = s.u32(24), s.u32(28)
		known = HeaderLenLayout
	}
	for i := known; i < int(h.HdrLen); i++ {
		if s.data[i] != 0 {
			return fail(i, "the header has %d bytes, and the bytes after the known fields are not "+
				"zero", h.HdrLen)
		}
	}
	if h.TypeOff%4 != 0 {
		return fail(8, "type section offset %d is not a multiple of 4", h.TypeOff)
	}
	secs := []section{{"type", h.TypeOff, h.TypeLen}, {"string", h.StrOff, h.StrLen}}
	if h.LayoutLen != 0 {
		if h.LayoutOff%4 != 0 || h.LayoutLen%4 != 0 {
			return fail(24, "layout section (offset %d, length %d) does not consist of 4-byte entries",
				h.LayoutOff, h.LayoutLen)
		}
		secs = append(secs, section{"layout", h.LayoutOff, h.LayoutLen})
	}
	slices.SortStableFunc(secs, func(a, b section) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.len, b.len))
	})
	at, room := uint64(0), uint64(len(s.data))-uint64(h.HdrLen)
	for _, x := range secs {
		switch {
		case uint64(x.off) > at:
			return fail(8, "there is a gap of %s before the %s section",
				message.Count(uint64(x.off)-at, "byte"), x.name)
		case uint64(x.off) < at:
			return fail(8, "the %s section overlaps the section before it", x.name)
		case uint64(x.len) > room-at:
			return fail(8, "the %s section (offset %d, length %d) ends after the data (%d bytes)", x.name,
				x.off, x.len, room)
		}
		at += uint64(x.len)
	}
	return h, int(uint64(h.HdrLen) + at), nil
}

// section is the place of a section, in bytes from the end of the header.
type section struct {
	name     string
	off, len uint32
}
