package facts

import (
	"cmp"
	stdelf "debug/elf"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// collectFunctions lists the STT_FUNC symbols and counts the addresses of each base name.
func (e *extractor) collectFunctions(in *elf.Functions) {
	all := make([]*elf.Symbol, 0, len(in.Table)+len(e.loose))
	for _, i := range in.Table {
		all = append(all, &e.symbols.List[i])
	}
	all = append(all, e.loose...)
	e.makeRoom(all)
	bases := newRepeats(len(all))
	for _, s := range all {
		name := e.symbols.Name(s)
		base, ok := BaseName(name)
		bases.add(base)
		if !ok && !IsPart(name) {
			continue
		}
		list := &e.facts.Globals
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			list = &e.facts.Files[e.fileOf(s)].Funcs
		}
		*list = append(*list, e.names.keep(name))
	}
	var several []function
	for i, s := range all {
		if !bases.mayRepeat(i) {
			continue
		}
		if base, ok := BaseName(e.symbols.Name(s)); ok {
			several = append(several, function{sortKey(base), base, position{s.Section, s.Value}})
		}
	}
	e.countAddresses(several)
}

// makeRoom allocates the lists of functions, in one array for all files.
func (e *extractor) makeRoom(all []*elf.Symbol) {
	sizes := make([]int, len(e.facts.Files))
	globals := 0
	for _, s := range all {
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			sizes[e.fileOf(s)]++
		} else {
			globals++
		}
	}
	e.facts.Globals = slices.Grow(e.facts.Globals, globals)
	locals := make([]string, len(all)-globals)
	for i, n := range sizes {
		if n > 0 {
			e.facts.Files[i].Funcs, locals = locals[:0:n], locals[n:]
		}
	}
}

type function struct {
	key  uint64 // the first bytes of base, to compare
	base string
	at   position
}

// position is the place to which a symbol points. In a relocatable file, equal addresses in
// different sections are different positions.
type position struct {
	section int32
	value   uint64
}

func comparePositions(a, b position) int {
	return cmp.Or(cmp.Compare(a.section, b.section), cmp.Compare(a.value, b.value))
}

func compareFunctions(a, b function) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Or(strings.Compare(a.base, b.base), comparePositions(a.at, b.at))
}

// countAddresses fills SeveralAddresses from all functions that share their base names with others.
// Rule: skipped: ambiguous address. Aliases at one address count as one function, clones as others.
func (e *extractor) countAddresses(all []function) {
	slices.SortFunc(all, compareFunctions)
	for i := 0; i < len(all); {
		j, addresses := i+1, 1
		for ; j < len(all) && all[j].base == all[i].base; j++ {
			if all[j].at != all[j-1].at {
				addresses++
			}
		}
		if addresses > 1 {
			e.facts.SeveralAddresses = append(e.facts.SeveralAddresses,
				RepeatedName{e.names.keep(all[i].base), addresses})
		}
		i = j
	}
}

// repeats finds, among many names, all that occur several times, and a few others.
type repeats struct {
	seed        maphash.Seed
	hashes      []uint32 // of the names added
	once, twice []uint64 // one bit per hash
}

func newRepeats(n int) *repeats {
	words := 1 << bits.Len(uint(n)/2) // at least 32 bits per name
	return &repeats{maphash.MakeSeed(), make([]uint32, 0, n), pages.Make[uint64](words),
		pages.Make[uint64](words)}
}

func (r *repeats) add(name string) {
	h := uint32(maphash.String(r.seed, name))
	r.hashes = append(r.hashes, h)
	i, bit := r.bit(h)
	r.twice[i] |= r.once[i] & bit
	r.once[i] |= bit
}

// mayRepeat returns false only if the i-th name was certainly added just once.
func (r *repeats) mayRepeat(i int) bool {
	word, bit := r.bit(r.hashes[i])
	return r.twice[word]&bit != 0
}

func (r *repeats) bit(h uint32) (word int, bit uint64) {
	return int(h>>6) & (len(r.once) - 1), 1 << (h & 63)
}
