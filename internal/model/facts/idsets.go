package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// include/linux/btf_ids.h lays out the section .BTF_ids. A set8 is two words (the number of its
// entries, and its flags), then an entry of two words for each function: its type id and its flags.
// The compiler leaves all counts and ids 0, and each entry has a symbol with its function's name.
// resolve_btfids fills in counts and ids and sorts the entries of each set by id; after that, the
// symbols no longer show which entry belongs to which function.
const (
	idsSection  = ".BTF_ids"
	setPrefix   = "__BTF_ID__set8__"
	funcPrefix  = "__BTF_ID__func__"
	kfuncSet    = 1 // BTF_SET8_KFUNCS, in the set's flags
	entrySize   = 8
	maxIDsBytes = 1 << 26
)

// idSet is one set8 of kfuncs.
type idSet struct {
	name    string
	section int32
	start   uint64 // offset of the first entry in the section, in bytes
	entries []idEntry
	filled  bool     // resolve_btfids has filled it in
	names   []string // the functions whose symbols point into the set, by offset
}

type idEntry struct{ id, flags uint32 }

// findSets reads the kfunc sets, sorted by section and offset, with function names from symbols.
// Rule: kfuncs: which functions are. Those in sets of .BTF_ids with BTF_SET8_KFUNCS. Source: pahole
// btf_encoder__collect_kfuncs; resolve_btfids collect_kfuncs.
func (e *extractor) findSets() ([]idSet, error) {
	var sets []idSet
	var funcs []*elf.Symbol
	for _, s := range e.ids {
		switch {
		case e.symbols.HasPrefix(s, funcPrefix):
			funcs = append(funcs, s)
		case e.symbols.HasPrefix(s, setPrefix):
			set, isKfuncs, err := e.readSet(s)
			if err != nil {
				return nil, fmt.Errorf("%s: section %s: symbol %q: %w", e.file.Path, idsSection,
					e.symbols.Name(s), err)
			}
			if isKfuncs {
				sets = append(sets, set)
			}
		}
	}
	slices.SortFunc(sets, func(a, b idSet) int {
		return comparePositions(position{a.section, a.start}, position{b.section, b.start})
	})
	slices.SortFunc(funcs, func(a, b *elf.Symbol) int {
		return comparePositions(position{a.Section, a.Value}, position{b.Section, b.Value})
	})
	for _, s := range funcs {
		name, ok := IDName(strings.TrimPrefix(e.symbols.Name(s), funcPrefix))
		offset := s.Value - e.file.Sections[s.Section].Addr
		i, found := slices.BinarySearchFunc(sets, position{s.Section, offset},
			func(a idSet, b position) int {
				if a.section == b.section && a.start <= b.value &&
					b.value < a.start+entrySize*uint64(len(a.entries)) {
					return 0
				}
				return comparePositions(position{a.section, a.start}, b)
			})
		if !ok || !found {
			continue // an id outside of kfunc sets
		}
		set := &sets[i]
		if index := (offset - set.start) / entrySize; (offset-set.start)%entrySize != 0 ||
			index != uint64(len(set.names)) {
			return nil, fmt.Errorf("%s: section %s: symbol %q is not at entry %d of its set %q"+
				message.Rebuild, e.file.Path, idsSection, e.symbols.Name(s), len(set.names), set.name)
		}
		set.names = append(set.names, name)
	}
	return sets, nil
}

// readSet reads the set8 at a symbol.
func (e *extractor) readSet(s *elf.Symbol) (set idSet, isKfuncs bool, err error) {
	section := e.file.Sections[s.Section]
	data, err := section.Data()
	if err != nil {
		return set, false, err
	}
	offset := s.Value - section.Addr
	if s.Value < section.Addr || offset > uint64(len(data)) || s.Size > uint64(len(data))-offset ||
		s.Size > maxIDsBytes {
		return set, false, fmt.Errorf("%d bytes at offset %#x are outside of the section (%d "+
			"bytes)"+message.Rebuild, s.Size, offset, len(data))
	}
	if s.Size < entrySize || s.Size%entrySize != 0 {
		return set, false, fmt.Errorf("the set has %d bytes; expected a multiple of %d, at least "+
			"%d"+message.Rebuild, s.Size, entrySize, entrySize)
	}
	data = data[offset : offset+s.Size]
	word := func(i uint64) uint32 { return e.file.Order.Uint32(data[4*i:]) }
	set = idSet{name: strings.TrimPrefix(e.symbols.Name(s), setPrefix), section: s.Section,
		start: offset + entrySize}
	n := s.Size/entrySize - 1
	if count := word(0); count != 0 {
		if uint64(count) != n {
			return set, false, fmt.Errorf("the count says %d entries, but the size says %d"+
				message.Rebuild, count, n)
		}
		set.filled = true
	}
	set.entries = make([]idEntry, n)
	for i := range set.entries {
		set.entries[i] = idEntry{word(2*uint64(i) + 2), word(2*uint64(i)+3) & kfuncFlags}
	}
	return set, word(1)&kfuncSet != 0, nil
}

// IDName extracts the name from NAME__NUMBER, the end of the symbol of an id. As in get_id in the
// kernel's resolve_btfids, there may be no underscore in NUMBER.
// Rule: .BTF_ids: the name in a symbol. Source: resolve_btfids get_id.
func IDName(symbol string) (name string, ok bool) {
	cut := strings.LastIndexByte(symbol, '_')
	if cut < 1 || symbol[cut-1] != '_' {
		return "", false
	}
	return symbol[:cut-1], true
}

// isUniform reports whether all entries have the same flags, and every entry has a name. If so, the
// order in which resolve_btfids has sorted the entries does not matter.
func (s *idSet) isUniform() bool {
	for _, e := range s.entries {
		if e.flags != s.entries[0].flags {
			return false
		}
	}
	return len(s.names) == len(s.entries)
}

// assign adds the flags of the set's functions to the map flags. The parameter names maps type ids
// to functions. It is needed only if the set is filled in and not uniform.
func (s *idSet) assign(names map[uint32]string, flags map[string]uint32) error {
	if !s.filled || s.isUniform() {
		if len(s.names) != len(s.entries) {
			return fmt.Errorf("the set has %d entries, but only %d of them have symbols; is the "+
				"symbol table stripped? use the unstripped file", len(s.entries), len(s.names))
		}
		for i, name := range s.names {
			flags[name] |= s.entries[i].flags
		}
		return nil
	}
	left := slices.Clone(s.names) // names that no id has claimed yet
	var rest []idEntry            // entries whose id has no name
	for _, e := range s.entries {
		name := names[e.id]
		if name == "" {
			rest = append(rest, e)
			continue
		}
		flags[name] |= e.flags
		if i := slices.Index(left, name); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else if len(s.names) == len(s.entries) {
			return fmt.Errorf("id %d is the function %q, which the set's symbols do not name; "+
				"use the base that the file was linked against", e.id, name)
		}
	}
	for _, e := range rest {
		if e.flags != rest[0].flags || len(left) != len(rest) {
			return fmt.Errorf("id %d isn't a function in the file's BTF; if this is split BTF, pass its "+
				"base", e.id)
		}
	}
	for i, e := range rest {
		flags[left[i]] |= e.flags
	}
	return nil
}
