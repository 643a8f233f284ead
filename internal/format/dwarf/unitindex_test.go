package dwarf

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// index makes the bytes of an index: the version, then the rest as numbers of 4 bytes.
func index(order binary.AppendByteOrder, version int, words ...uint32) []byte {
	var b []byte
	if version == 5 {
		b = order.AppendUint16(b, 5)
		b = order.AppendUint16(b, 0)
	} else {
		b = order.AppendUint32(b, uint32(version))
	}
	for _, w := range words {
		b = order.AppendUint32(b, w)
	}
	return b
}

// oneUnit is an index with one unit, in slot 1 of 2. Depending on the byte order, the unit's id is
// 0x22_00000011 or 0x11_00000022.
var oneUnit = []uint32{3, 1, 2, 0, 0, 0x11, 0x22, 0, 1, 1, 3, 5, 100, 200, 300, 7, 8, 9}

// sizes returns a function from a section's name to its size: 0x1000 if full has the name, else 0.
func sizes(full string) func(name string) uint64 {
	return func(name string) uint64 {
		name = strings.TrimSuffix(strings.TrimPrefix(name, ".debug_"), ".dwo")
		if slices.Contains(strings.Fields(full), name) {
			return 0x1000
		}
		return 0
	}
}

// sectionsOfOne lists the sections that have columns in oneUnit.
const sectionsOfOne = "info types abbrev loc loclists"

func TestUnitIndex(t *testing.T) {
	const size = 0x1000
	with := func(at int, v uint32) []uint32 {
		words := slices.Clone(oneUnit)
		words[at] = v
		return words
	}
	for _, c := range []struct {
		name    string
		big     bool
		types   bool
		version int
		full    string // the sections that aren't empty; "" means sectionsOfOne
		words   []uint32
		want    []indexRow
		problem string
	}{
		{name: "version 2", version: 2, words: oneUnit,
			want: []indexRow{{0x22_00000011, 100, contribution{abbrev: 200, locs: 300}}}},
		{name: "version 5, big-endian", big: true, version: 5, words: oneUnit,
			want: []indexRow{{0x11_00000022, 100, contribution{abbrev: 200, locs: 300}}}},
		{name: "type units of version 2", types: true, version: 2, words: with(9, 2),
			want: []indexRow{{0x22_00000011, 100, contribution{abbrev: 200, locs: 300}}}},
		{name: "type units of version 5", types: true, version: 5, words: oneUnit,
			want: []indexRow{{0x22_00000011, 100, contribution{abbrev: 200, locs: 300}}}},
		{name: "strings and ranges", version: 5, full: "info str_offsets rnglists",
			words: []uint32{3, 1, 1, 0x11, 0x22, 1, 6, 8, 1, 100, 200, 300, 7, 8, 9},
			want:  []indexRow{{0x22_00000011, 300, contribution{strOffsets: 100, rnglists: 200}}}},
		{name: "nothing of a section", version: 5, words: with(17, 0),
			want: []indexRow{{0x22_00000011, 100, contribution{abbrev: 200, locs: size}}}},
		{name: "the end of a section", version: 5, words: with(12, size-7),
			want: []indexRow{{0x22_00000011, size - 7, contribution{abbrev: 200, locs: 300}}}},
		{name: "type units without locations", types: true, version: 5, words: with(11, 7),
			want: []indexRow{{0x22_00000011, 100, contribution{abbrev: 200}}}},
		{name: "no locations", version: 5, words: with(11, 7),
			problem: "no column for .debug_loclists.dwo, though the section is not empty"},
		{name: "no locations, version 2", version: 2, words: with(11, 7),
			problem: "no column for .debug_loc.dwo"},
		{name: "no strings", version: 5, full: "info abbrev loclists str_offsets", words: oneUnit,
			problem: "no column for .debug_str_offsets.dwo"},
		{name: "no ranges", version: 5, full: "info abbrev loclists rnglists", words: oneUnit,
			problem: "no column for .debug_rnglists.dwo"},
		{name: "no types", version: 2, types: true, words: oneUnit,
			problem: "no column for .debug_types.dwo"},
		{name: "two of a section", version: 5, words: with(11, 3),
			problem: "two columns for .debug_abbrev.dwo"},
		{name: "two of a section that isn't read", version: 5, full: "info",
			words: []uint32{3, 1, 1, 0x11, 0x22, 1, 4, 4, 1, 100, 200, 300, 7, 8, 9},
			want:  []indexRow{{0x22_00000011, 300, contribution{}}}},
		{name: "past the end of a section", version: 5, words: with(12, size-6),
			problem: "the unit 0x0000002200000011 has bytes 0xffa to 0x1001 of .debug_info.dwo, which " +
				"has only 0x1000"},
		{name: "far past the end of a section", version: 5, words: with(16, 1<<32-1),
			problem: "0xc8 to 0x1000000c7 of .debug_abbrev.dwo"},
		{name: "no units", version: 5, words: []uint32{0, 0, 0}},
		{name: "another version", version: 3, words: oneUnit, problem: "version"},
		{name: "cut off", version: 5, words: oneUnit[:len(oneUnit)-1], problem: "exceed the section"},
		{name: "no header", version: 5, words: oneUnit[:2], problem: "cut off"},
		{name: "too many sections", version: 5, words: with(0, 1<<20), problem: "sections"},
		{name: "too many slots", version: 5, words: with(2, 1<<31), problem: "exceed the section"},
		{name: "too many units", version: 5, words: with(1, 1<<31), problem: "exceed the section"},
		{name: "no such row", version: 5, words: with(8, 2), problem: "missing or in use"},
		{name: "a row twice", version: 5, words: with(7, 1), problem: "missing or in use"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var order binary.ByteOrder = binary.LittleEndian
			data := index(binary.LittleEndian, c.version, c.words...)
			if c.big {
				order, data = binary.BigEndian, index(binary.BigEndian, c.version, c.words...)
			}
			x, _, err := parseIndex(order, data, c.types, sizes(cmp.Or(c.full, sectionsOfOne)))
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") {
				t.Fatalf("problem %q, want %q", problem, c.problem)
			}
			if problem == "" && !slices.Equal(x.rows, c.want) {
				t.Errorf("rows %+v, want %+v", x.rows, c.want)
			}
		})
	}
}

// FuzzUnitIndex reads arbitrary bytes as an index. The number of bytes limits how many rows it may
// find.
func FuzzUnitIndex(f *testing.F) {
	f.Add(false, false, index(binary.LittleEndian, 2, oneUnit...))
	f.Add(true, false, index(binary.BigEndian, 5, oneUnit...))
	f.Add(false, true, index(binary.LittleEndian, 5, oneUnit...))
	f.Fuzz(func(t *testing.T, big, types bool, data []byte) {
		var order binary.ByteOrder = binary.LittleEndian
		if big {
			order = binary.BigEndian
		}
		x, at, _ := parseIndex(order, data, types, sizes(sectionsOfOne))
		if len(x.rows) > len(data)/20 || at > len(data) {
			t.Errorf("%d rows of %d bytes, a problem at %d", len(x.rows), len(data), at)
		}
	})
}

// FuzzSplit reads files whose split units are arbitrary bytes.
func FuzzSplit(f *testing.F) {
	for _, data := range programtest.Seeds(f, "../splitdwarf/testdata/*.dw[op]") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := elf.Parse("input", data)
		if err != nil {
			return
		}
		d, err := NewSplit(file)
		if err != nil {
			return
		}
		d = d.For([]byte("prefix"))
		var r Reader
		var p Prints
		for id := range d.dwo.ids {
			u := d.SplitUnit(id)
			for _, h := range append(d.TypeUnitsOf(u), u) {
				s := &Skeleton{addressing: addressing{addr: data, ranges: data}, data: d, version: h.Version}
				if r.LoadSplit(d, h, s) == nil {
					p.Reset(&r)
					_ = readUnit(&r, &p)
				}
			}
		}
	})
}
