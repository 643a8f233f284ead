package base

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// table maps content hashes to numbers; a hash may have several numbers. A table is a little-endian
// slice of a file that is used in place, without parsing.
//
// The first bits of a hash are the number of its bucket. A bucket has four to eight entries on
// average, ordered by the second half of the hash, then by number. The number is stored next to the
// hash, so a look-up reads one or two cache lines of entries. Only the second half of a hash is
// stored. Together with the bucket number, it has about 78 bits. With 10^4 strings in a module and
// 10^5 in the kernel, a string of a module is mistaken for a different string of the kernel in one
// module out of 10^14.
type table struct {
	shape   tableShape
	starts  []byte // by bucket: the index of its first entry, 4 bytes; one more at the end
	entries []byte // by entry: Hash.B (8 bytes), then the number (shape.Width bytes)
}

// tableShape is the description of a table in a file's header.
type tableShape struct {
	Count uint32 // the number of entries
	Bits  uint8  // the base 2 logarithm of the number of buckets
	Width uint8  // the size of a number, in bytes
}

type entry struct {
	hash  types.Hash
	value uint32
}

// shapeOf returns the shape of a table with count entries, in which no number is above largest.
func shapeOf(count int, largest uint32) tableShape {
	return tableShape{uint32(count), uint8(bits.Len(uint(count / 8))),
		uint8(bits.Len32(largest)+7) / 8}
}

// stride returns the size of an entry, in bytes.
func (s tableShape) stride() uint64 { return 8 + uint64(s.Width) }

func (s tableShape) sizes() (starts, entries uint64) {
	return 4 * (1<<s.Bits + 1), s.stride() * uint64(s.Count)
}

func (s tableShape) bucket(h types.Hash) uint32 { return uint32(h.A >> 32 >> (32 - s.Bits)) }

func appendTable(out []byte, s tableShape, entries []entry) []byte {
	bucket := func(e entry) uint32 { return s.bucket(e.hash) }
	sorted, starts := types.Buckets(entries, 1<<s.Bits, bucket)
	for i := range starts[1:] {
		slices.SortFunc(sorted[starts[i]:starts[i+1]], func(a, b entry) int {
			if a.hash.B != b.hash.B {
				return cmp.Compare(a.hash.B, b.hash.B)
			}
			return cmp.Compare(a.value, b.value)
		})
	}
	for _, at := range starts {
		out = binary.LittleEndian.AppendUint32(out, at)
	}
	for i := range sorted {
		out = binary.LittleEndian.AppendUint64(out, sorted[i].hash.B)
		var number [4]byte
		binary.LittleEndian.PutUint32(number[:], sorted[i].value)
		out = append(out, number[:s.Width]...)
	}
	return out
}

// cutTable removes a table of shape s from the front of data, which must be long enough.
func cutTable(data []byte, s tableShape) (t table, rest []byte) {
	starts, entries := s.sizes()
	t.shape = s
	t.starts, data = data[:starts], data[starts:]
	t.entries, rest = data[:entries], data[entries:]
	return t, rest
}

// find returns the index of a hash's first entry, and the end of its bucket.
func (t *table) find(h types.Hash) (first, end uint32) {
	bucket := t.shape.bucket(h)
	first = binary.LittleEndian.Uint32(t.starts[4*bucket:])
	end = min(binary.LittleEndian.Uint32(t.starts[4*bucket+4:]), t.shape.Count)
	for first < end && t.key(first) < h.B {
		first++
	}
	return first, end
}

// key returns the second half of an entry's hash.
func (t *table) key(entry uint32) uint64 {
	return binary.LittleEndian.Uint64(t.entries[t.shape.stride()*uint64(entry):])
}

// all yields the numbers for a hash, in ascending order.
func (t *table) all(h types.Hash) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		i, end := t.find(h)
		for ; i < end && t.key(i) == h.B; i++ {
			if !yield(t.value(i)) {
				return
			}
		}
	}
}

// first returns the smallest number for a hash, or 0 if there is none.
func (t *table) first(h types.Hash) uint32 {
	if i, end := t.find(h); i < end && t.key(i) == h.B {
		return t.value(i)
	}
	return 0
}

// count returns the smallest number for a hash (0 if there is none) and how many numbers there are.
func (t *table) count(h types.Hash) (first uint32, count int) {
	for number := range t.all(h) {
		if count++; count == 1 {
			first = number
		}
	}
	return first, count
}

// value returns an entry's number: the last bytes of the entry, which has at least eight.
func (t *table) value(entry uint32) uint32 {
	end := t.shape.stride() * (uint64(entry) + 1)
	return uint32(binary.LittleEndian.Uint64(t.entries[end-8:]) >> (64 - 8*uint(t.shape.Width)))
}
