package btf

import (
	"cmp"
	"slices"
)

// Flags of a LOC_PARAM, in Extra. They say what the values mean; package verify has the valid
// combinations.
const (
	LocSigned = 0x1  // the constant or the offset is signed
	LocConst  = 0x2  // a constant: its low word, then its high word
	LocAddr   = 0x4  // with LocConst: an address, counted from the start of the kernel or module
	LocReg    = 0x8  // the first value is a register; without LocOffset, so is the second
	LocDeref  = 0x10 // the parameter is in memory, where the register (plus the offset) points
	LocOffset = 0x20 // the values after the register are an offset, the low word first
)

// LocFrameBase is the register number of the frame base (DW_OP_fbreg). Other numbers are those of
// DWARF.
const LocFrameBase = 0xffffffff

// Site is one site of a LOCSEC: a place where a function was inlined.
type Site struct {
	Func     uint32 // the FUNC
	LocProto uint32 // a LOC_PROTO with a parameter for each of the function's
	Offset   uint32 // in bytes, from the start of the section
}

func (s *Site) ref(n uint32) *uint32 {
	if n == 0 {
		return &s.Func
	}
	return &s.LocProto
}

// Compare compares sites by function id, offset and LOC_PROTO, the order in a LOCSEC.
func (s Site) Compare(o Site) int {
	switch {
	case s.Func != o.Func:
		return cmp.Compare(s.Func, o.Func)
	case s.Offset != o.Offset:
		return cmp.Compare(s.Offset, o.Offset)
	}
	return cmp.Compare(s.LocProto, o.LocProto)
}

// SortSites sorts the sites of each LOCSEC.
func (b *Blob) SortSites() {
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind == KindLocsec {
			slices.SortFunc(b.SitesOf(t), Site.Compare)
		}
	}
}

// HasLocations reports whether b itself has types of the kinds for inlined functions.
func (b *Blob) HasLocations() bool {
	return slices.ContainsFunc(b.Types, func(t Type) bool { return t.Kind.IsLocation() })
}

// WordsOf returns the values of a LOC_PARAM or the ids in a LOC_PROTO that is in b itself.
func (b *Blob) WordsOf(t *Type) []uint32 { return b.Words[t.First : t.First+t.Vlen] }

// SitesOf returns the sites of a LOCSEC that is in b itself.
func (b *Blob) SitesOf(t *Type) []Site { return b.Sites[t.First : t.First+t.Vlen] }

// words decodes the words of t, which begin at off, and returns where they end.
func (b *Blob) words(t *Type, s source, off int) int {
	t.First = uint32(len(b.Words))
	for range t.Vlen {
		b.Words = append(b.Words, s.u32(off))
		off += 4
	}
	return off
}

// sites decodes the sites of t, which begin at off, and returns where they end.
func (b *Blob) sites(t *Type, s source, off int) int {
	t.First = uint32(len(b.Sites))
	for range t.Vlen {
		f, proto, offset := s.threeWords((*[12]byte)(s.data[off:]))
		b.Sites = append(b.Sites, Site{f, proto, offset})
		off += 12
	}
	return off
}
