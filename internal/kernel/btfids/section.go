package btfids

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

const SectionName = ".BTF_ids"

// maxSize is the largest accepted size in bytes. A kernel's section has about 6000.
const maxSize = 1 << 26

// Symbol is a symbol in the section.
type Symbol struct {
	Name   string
	Offset uint64 // in bytes, from the start of the section
	Size   uint64 // in bytes
}

// Section is the content of .BTF_ids, with the symbols that describe it.
type Section struct {
	data  []byte // all ids and counts that have symbols are 0 here
	order binary.ByteOrder
	ids   []id  // sorted by offset
	sets  []set // sorted by offset
	had   bool  // some id or count was nonzero when the section was read
}

type id struct {
	symbol string
	at     uint32 // offset in the section
	kind   btf.Kind
	name   string
}

type set struct {
	symbol string
	at     uint32 // offset in the section
	entry  uint32 // size of an entry in bytes: setEntry or set8Entry
	n      uint32 // number of entries
	name   string
	ids    []id    // the entries that have symbols
	old    []entry // the sorted entries; nil if the flags are still at their symbols
}

type entry struct{ id, flags uint32 }

func (s *set) first() uint32 { return s.at + s.entry }

func (s *set) end() uint32 { return s.first() + s.n*s.entry }

func symbolError(name string, offset uint64, err error) error {
	return fmt.Errorf("symbol %q at offset %#x: %w", name, offset, err)
}

// Parse reads a section from its bytes and its symbols. It doesn't change the bytes, and ignores
// symbols without Prefix. If the section has already been resolved, Parse restores the state in
// which the compiler left it, unless Sorted returns true.
func Parse(data []byte, order binary.ByteOrder, symbols []Symbol) (*Section, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", len(data), maxSize)
	}
	s := &Section{data: bytes.Clone(data), order: order}
	for _, sym := range symbols {
		if !strings.HasPrefix(sym.Name, Prefix) {
			continue
		}
		if err := s.add(sym); err != nil {
			return nil, symbolError(sym.Name, sym.Offset, fmt.Errorf("%w"+useMacros, err))
		}
	}
	if len(s.ids)+len(s.sets) == 0 && len(bytes.Trim(data, "\x00")) > 0 {
		return nil, noSymbols(len(data))
	}
	for _, step := range []func() error{s.sortIDs, s.sortSets, s.fillSets} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	s.clear()
	return s, nil
}

const (
	useMacros  = "; declare ids with the kernel's BTF_ID macros, or build the file again"
	unstripped = "use the unstripped file"
)

// noSymbols is the error for a section whose symbols have been stripped. A section with only unused
// ids (BTF_ID_UNUSED) has no symbols either, but it is all zeros and not an error.
func noSymbols(size int) error {
	return fmt.Errorf("it has %d bytes, but no symbol %s…; is the symbol table stripped? "+unstripped,
		size, Prefix)
}

func (s *Section) add(sym Symbol) error {
	m, err := parseName(sym.Name)
	if err != nil {
		return err
	}
	size := uint64(4)
	if m.entry != 0 {
		size = sym.Size
	}
	if length := uint64(len(s.data)); sym.Offset > length || size > length-sym.Offset {
		return fmt.Errorf("its %d bytes don't fit in the section, which has %d", size, length)
	}
	if sym.Offset%4 != 0 {
		return fmt.Errorf("its offset is not a multiple of 4")
	}
	at := uint32(sym.Offset)
	if m.entry == 0 {
		s.ids = append(s.ids, id{sym.Name, at, m.kind, m.name})
		return nil
	}
	entry := uint64(m.entry)
	if size < entry || size%entry != 0 {
		return fmt.Errorf("it has %d bytes; expected a multiple of %d, at least %d", size, entry, entry)
	}
	s.sets = append(s.sets, set{symbol: sym.Name, at: at, entry: m.entry,
		n: uint32(size/entry) - 1, name: m.name})
	return nil
}

// sortIDs sorts the ids, and rejects two symbols at the same offset.
func (s *Section) sortIDs() error {
	slices.SortFunc(s.ids, func(a, b id) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.symbol, b.symbol))
	})
	for i := 1; i < len(s.ids); i++ {
		if a, b := &s.ids[i-1], &s.ids[i]; a.at == b.at {
			return symbolError(b.symbol, uint64(b.at), fmt.Errorf("the symbol %q has the same "+
				"offset"+useMacros, a.symbol))
		}
	}
	return nil
}

// sortSets sorts the sets, and rejects sets that overlap or have the same name.
func (s *Section) sortSets() error {
	slices.SortFunc(s.sets, func(a, b set) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.symbol, b.symbol))
	})
	names := map[string]*set{}
	for i := range s.sets {
		b := &s.sets[i]
		if i > 0 && s.sets[i-1].end() > b.at {
			a := &s.sets[i-1]
			return symbolError(b.symbol, uint64(b.at), fmt.Errorf(
				"it overlaps the set %q, which begins at %#x and ends at %#x"+useMacros, a.symbol, a.at,
				a.end()))
		}
		if a := names[b.name]; a != nil {
			return symbolError(b.symbol, uint64(b.at), fmt.Errorf("the set %q at offset %#x has the "+
				"same name, which the kernel's resolve_btfids rejects; rename one of them", a.symbol, a.at))
		}
		names[b.name] = b
	}
	return nil
}

func (s *Section) fillSets() error {
	for i := range s.sets {
		set := &s.sets[i]
		byOffset := func(x id, at uint32) int { return cmp.Compare(x.at, at) }
		from, _ := slices.BinarySearchFunc(s.ids, set.at, byOffset)
		to, _ := slices.BinarySearchFunc(s.ids, set.end(), byOffset)
		set.ids = s.ids[from:to:to]
		for _, x := range set.ids {
			if x.at < set.first() || (x.at-set.first())%set.entry != 0 {
				return symbolError(x.symbol, uint64(x.at), fmt.Errorf("it is not at the start of an "+
					"entry of the set %q, which begins at %#x and has %d entries of %d bytes"+useMacros,
					set.symbol,
					set.at, set.n, set.entry))
			}
		}
	}
	return nil
}

// clear sets all ids and counts to 0. If sorting may have moved the flags of a set8, clear saves
// the set's entries in old.
func (s *Section) clear() {
	for i := range s.ids {
		if s.setAt(s.ids[i].at) == nil {
			s.had = s.had || s.word(s.ids[i].at) != 0
			s.put(s.ids[i].at, 0)
		}
	}
	for i := range s.sets {
		set := &s.sets[i]
		filled := s.word(set.at) != 0
		s.put(set.at, 0)
		var old []entry
		mixed := false
		for at := set.first(); at < set.end(); at += set.entry {
			filled = filled || s.word(at) != 0
			if set.entry == set8Entry {
				old = append(old, entry{s.word(at), s.word(at + 4)})
				mixed = mixed || old[0].flags != s.word(at+4)
			}
			s.put(at, 0)
		}
		s.had = s.had || filled
		if filled && mixed {
			set.old = old
		}
	}
}

// Resolved reports whether the section had ids when it was read.
func (s *Section) Resolved() bool { return s.had }

// setAt returns the set that contains an offset, or nil.
func (s *Section) setAt(at uint32) *set {
	i, found := slices.BinarySearchFunc(s.sets, at, func(x set, at uint32) int {
		return cmp.Compare(x.at, at)
	})
	if !found {
		i--
	}
	if i < 0 || at >= s.sets[i].end() {
		return nil
	}
	return &s.sets[i]
}

func (s *Section) word(at uint32) uint32   { return s.order.Uint32(s.data[at:]) }
func (s *Section) put(at uint32, v uint32) { s.order.PutUint32(s.data[at:], v) }
