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

func TestHasLargeUnion(t *testing.T) {
	aggregate := func(kind string, size int64) dwarf.Type {
		return &dwarf.StructType{CommonType: dwarf.CommonType{ByteSize: size}, Kind: kind}
	}
	for _, c := range []struct {
		types []dwarf.Type
		want  bool
	}{
		{nil, false},
		{[]dwarf.Type{aggregate("union", 28), aggregate("struct", 4)}, true},
		{[]dwarf.Type{aggregate("struct", 4), aggregate("union", 28)}, false},
		{[]dwarf.Type{aggregate("union", 16), aggregate("struct", 4)}, false},
		{[]dwarf.Type{aggregate("struct", 28), aggregate("struct", 4)}, false},
	} {
		if got := hasLargeUnion(c.types); got != c.want {
			t.Errorf("%v: %t, want %t", c.types, got, c.want)
		}
	}
}
