package split

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
)

// shard is a shard that is being made.
type shard struct {
	like    *elfwrite.Object // for the machine, without sections
	info    []byte           // .debug_info
	lists   []byte           // .debug_loclists
	abbrevs abbrevs
	strs    stringTable
	functions
	foreign
	common
	allowed uint64 // bytes that the sections may have, see bound
}

// Entries may be referred to from any number of places, so a hostile file of modest size can ask
// for any amount of copies: entries that overlap, strings that end in each other. A unit's copy
// is smaller than the unit, but for strings that were inline or shared.
const (
	growth      = 16 // bytes of a shard for each byte of the units that it is made of
	growthFloor = 32 << 20
)

// bound refuses a shard that has become larger than compilers' units can make it. off is an entry
// of the unit that is copied.
func (s *shard) bound(r *dwarf.Reader, off uint32) error {
	size := uint64(len(s.info) + len(s.types) + len(s.lists) + len(s.strs.bytes))
	if size > s.allowed+growthFloor {
		return r.Errorf(off, "the unit's entries overlap or refer to each other in a way that no "+
			"compiler writes; the file is damaged")
	}
	if size > math.MaxUint32/2 {
		return fmt.Errorf("a shard of more than %d bytes; make more shards", size)
	}
	return nil
}

// list returns the offset of a location list with the expressions.
func (s *shard) list(exprs [][]byte) uint32 {
	if len(s.lists) == 0 {
		s.lists = make([]byte, listsHeader)
	}
	at := len(s.lists)
	for _, e := range exprs {
		s.lists = append(s.lists, 5) // DW_LLE_default_location
		s.lists = binary.AppendUvarint(s.lists, uint64(len(e)))
		s.lists = append(s.lists, e...)
	}
	s.lists = append(s.lists, 0)
	return uint32(at)
}

// listsHeader is the size of the header of .debug_loclists (7.29), which is filled in at the end.
const listsHeader = 12

// bytes returns the file.
func (s *shard) bytes() ([]byte, error) {
	if len(s.info) == 0 {
		return s.like.Bytes()
	}
	o := *s.like
	o.Linked = true
	o.Functions = s.functions.sorted()
	o.Sections = append(s.functions.sections(),
		elfwrite.Section{Name: ".debug_info", Data: append(s.types, s.info...)},
		elfwrite.Section{Name: ".debug_abbrev", Data: append(s.abbrevs.table, 0)},
		elfwrite.Section{Name: ".debug_str", Data: s.strs.bytes})
	if len(s.lists) > 0 {
		o.Order.PutUint32(s.lists, uint32(len(s.lists)-4))
		o.Order.PutUint16(s.lists[4:], 5)
		s.lists[6] = byte(o.AddrSize)
		o.Sections = append(o.Sections, elfwrite.Section{Name: ".debug_loclists", Data: s.lists})
	}
	return o.Bytes()
}
