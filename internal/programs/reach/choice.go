package reach

import (
	"math"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
)

// normal returns the comparison that decides a conditional jump, in a form that is the same for
// jumps such as x < 5, x <= 4 and !(x >= 5). If sense is false, the jump is taken if the comparison
// doesn't hold. If both operands are small, the result doesn't depend on how many bits the jump
// compares, and whether it compares them as signed numbers.
func (c choice) normal(small bool) (normal choice, sense bool) {
	code, class := c.op&0xf0, c.op&7
	if swapped, ok := swaps[code]; ok && c.x.kind == isNumber {
		code, c.x, c.y = swapped, c.y, c.x
	}
	if small {
		class = bpfobj.ClassJMP
		if unsigned, ok := unsigned[code]; ok {
			code = unsigned
		}
	}
	opposite, ok := opposites[code]
	if sense = !ok; ok {
		code = opposite
	}
	if c.y.kind == isNumber {
		v, least := c.y.value, int64(math.MinInt64)
		if class == bpfobj.ClassJMP32 {
			v, least = uint64(int64(int32(v))), math.MinInt32
		}
		switch {
		case code == jumpGe && v != 0:
			code, v = jumpGt, v-1
		case code == jumpSge && int64(v) != least:
			code, v = jumpSgt, v-1
		}
		if class == bpfobj.ClassJMP32 {
			v = uint64(int64(int32(v)))
		}
		if code == jumpGt && v == 0 {
			code, sense = jumpEq, !sense
		}
		c.y = number(v)
	}
	c.op = code | class
	return c, sense
}

// opposites maps some conditional jumps to the jump with the opposite condition.
var opposites = map[uint8]uint8{jumpNe: jumpEq, jumpLe: jumpGt, jumpLt: jumpGe, jumpSle: jumpSgt,
	jumpSlt: jumpSge}

// swaps maps conditional jumps to the jump that does the same with swapped operands.
var swaps = map[uint8]uint8{jumpEq: jumpEq, jumpNe: jumpNe, jumpSet: jumpSet, jumpGt: jumpLt,
	jumpLt: jumpGt, jumpGe: jumpLe, jumpLe: jumpGe, jumpSgt: jumpSlt, jumpSlt: jumpSgt,
	jumpSge: jumpSle, jumpSle: jumpSge}

// unsigned maps jumps that compare signed numbers to the jump that does the same for numbers that
// aren't negative.
var unsigned = map[uint8]uint8{jumpSgt: jumpGt, jumpSge: jumpGe, jumpSlt: jumpLt, jumpSle: jumpLe}
