package reach

import (
	"math/rand/v2"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestNormalChoice checks that a comparison in normal form gives the same results as the jump, and
// that it is the same for the opposite jump, and for a jump with swapped operands.
func TestNormalChoice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	numbers := []uint64{0, 1, 2, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63,
		1<<64 - 1}
	pick := func(small bool) uint64 {
		if small {
			return numbers[r.IntN(4)]
		}
		return numbers[r.IntN(len(numbers))]
	}
	for range 100000 {
		code := []uint8{jumpEq, jumpNe, jumpSet, jumpGt, jumpGe, jumpLt, jumpLe, jumpSgt, jumpSge,
			jumpSlt, jumpSle}[r.IntN(11)]
		class := uint8(bpfobj.ClassJMP + r.IntN(2))
		small := r.IntN(2) == 0
		x, y := pick(small), pick(small)
		unknown, constant := term{isSetting, 0}, number(y)
		if r.IntN(3) == 0 {
			constant = term{isSetting, 1}
		}
		c := choice{code | class, unknown, constant}
		normal, sense := c.normal(small)
		value := func(t term) term {
			if t.kind == isSetting {
				return number([]uint64{x, y}[t.value])
			}
			return t
		}
		want, _ := compare(code, class == bpfobj.ClassJMP32, number(x), number(y))
		got, known := compare(normal.op&0xf0, normal.op&7 == bpfobj.ClassJMP32, value(normal.x),
			value(normal.y))
		if !known || (got == sense) != want {
			t.Fatalf("%#x %#x %#x: %t, the normal form %+v (%t) gives %t", c.op, x, y, want, normal, sense,
				got)
		}
		if constant.kind == isNumber {
			swapped, swappedSense := choice{swaps[code] | class, constant, unknown}.normal(small)
			if swapped != normal || swappedSense != sense {
				t.Fatalf("%#x %#x: %+v, with swapped operands %+v", c.op, y, normal, swapped)
			}
		}
	}
}

// TestRenumber checks that the order of operands doesn't matter, and that facts get other numbers.
func TestRenumber(t *testing.T) {
	for _, c := range []struct{ test, want string }{
		{"0", "3"},
		{"0,#5,>", "3,#5,>"},
		{"0,1,+,#5,>", "2,3,+,#5,>"},
		{"1,0,+,#5,>", "2,3,+,#5,>"},
		{"1,0,-,#5,>", "2,3,-,#5,>"},
		{"#7,0,|32,1,==", "2,3,#7,|32,=="},
		{"0,1,>=", "3,2,>="},
	} {
		parsed := must.Get(ParseTest(c.test, 2))(t)
		if got := parsed.Renumber(func(fact int) int { return 3 - fact }).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.test, got, c.want)
		}
	}
}
