package oracle

import (
	"debug/dwarf"
	"testing"
)

func TestSameRegistersARM(t *testing.T) {
	number := func(size int64) dwarf.Type {
		basic := dwarf.BasicType{CommonType: dwarf.CommonType{ByteSize: size}}
		return &dwarf.TypedefType{Type: &dwarf.UintType{BasicType: basic}}
	}
	for _, c := range []struct {
		sizes []int64
		want  bool
	}{
		{nil, true},
		{[]int64{4, 4, 1, 4}, true},
		{[]int64{8, 4}, true},
		{[]int64{4, 4, 8}, true},
		{[]int64{4, 8}, false},
		{[]int64{4, 4, 4, 4, 4}, false},
		{[]int64{8, 4, 8}, false},
	} {
		var types []dwarf.Type
		for _, size := range c.sizes {
			types = append(types, number(size))
		}
		if got := sameRegistersARM(types); got != c.want {
			t.Errorf("parameters of %d bytes: %t, want %t", c.sizes, got, c.want)
		}
	}
}
