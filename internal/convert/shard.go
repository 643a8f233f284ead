package convert

import (
	std "debug/dwarf"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/object"
)

// Shard is one of several parts of a file's compilation units. The objects of all shards together
// are the object of the file. The zero value is the whole file.
type Shard struct {
	Index int // from 1
	Count int // of all shards; there may be more of them than units
}

// ParseShard reads "I/N", such as 2/8.
func ParseShard(s string) (Shard, error) {
	index, count, ok := strings.Cut(s, "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, err2 := strconv.ParseUint(count, 10, 31)
	if !ok || err != nil || err2 != nil || i < 1 || i > n {
		return Shard{}, errors.New("is not like 2/8: a number from 1 on, a slash, and how many there are")
	}
	return Shard{int(i), int(n)}, nil
}

// of returns which units are the shard's: those from first on, before end. Shards are contiguous
// and similarly large: a unit is in the shard in which its middle byte lies.
func (s Shard) of(units []*dwarf.Unit) (first, end int) {
	if s.Count == 0 {
		return 0, len(units)
	}
	var all uint64
	for _, u := range units {
		all += u.Len
	}
	first, end = len(units), len(units)
	var before uint64
	for i, u := range units {
		hi, lo := bits.Mul64(2*before+u.Len, uint64(s.Count))
		shard, _ := bits.Div64(hi, lo, 2*all)
		before += u.Len
		switch at := int(shard) + 1; {
		case at == s.Index && first == len(units):
			first = i
		case at > s.Index:
			return min(first, i), i
		}
	}
	return first, end
}

// findsComplete tells whether one of the units is no partial one.
func (c *converter) findsComplete(units []*dwarf.Unit) bool {
	return slices.ContainsFunc(units, func(h *dwarf.Unit) bool {
		return c.main.load(c.d, h) == nil && c.main.r.Root.Tag != std.TagPartialUnit
	})
}

// each calls opt.Each with the unit that was converted, if it was not left out.
func (c *converter) each(number int) error {
	if n := len(c.units); n > 0 && c.units[n-1].number == number {
		one := *c.obj
		one.Units = []object.Unit{c.units[n-1].Unit}
		return c.opt.Each(number, &one)
	}
	return nil
}
