package reach

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
)

// Test is a comparison of numbers that are known for each kernel. Some numbers are facts about the
// kernel: the answers to relocations, and 1 or 0 for a weak symbol that exists or doesn't. The
// holder of a test numbers the facts. A test is in postfix notation. For example, "2,3,+,#100,>"
// says that the sum of the facts 2 and 3 is more than 100. A test that is only one fact holds if
// the fact isn't 0.
// Rule: facts about a kernel in conditions, such as the size of a type. Source:
// kernel/bpf/verifier.c is_branch_taken.
type Test []token

type token struct {
	op    operation
	value uint64 // of a fact, its number in the list of facts
}

// Operations of tokens that aren't instructions.
const (
	isConstant operation = iota + 1<<14
	isFact
)

// maxTest is how many tokens a test may have. Values that would need longer tests are unknown.
const maxTest = 32

// Fact returns the test that holds if a fact isn't 0.
func Fact(fact int) Test { return Test{{isFact, uint64(fact)}} }

// The signs of operations, by the upper bits of opcodes. In a test, the sign of an operation on the
// lower 32 bits of its operands is followed by 32.
var (
	aluSigns = map[operation]string{aluAdd: "+", aluSub: "-", aluMul: "*", aluOr: "|", aluAnd: "&",
		aluLsh: "<<", aluRsh: ">>", aluXor: "^", aluSar: "s>>"}
	jumpSigns = map[operation]string{jumpEq: "==", jumpGt: ">", jumpGe: ">=", jumpSet: "has",
		jumpSgt: "s>", jumpSge: "s>="}
)

// bySign has the operations by their text in a test.
var bySign = func() map[string]operation {
	all := map[string]operation{}
	for op, sign := range aluSigns {
		all[sign], all[sign+"32"] = op|bpfobj.ClassALU64, op|bpfobj.ClassALU
	}
	for op, sign := range jumpSigns {
		all[sign], all[sign+"32"] = op|bpfobj.ClassJMP, op|bpfobj.ClassJMP32
	}
	return all
}()

// sign returns the sign of an operation, and whether the operation uses only 32 bits.
func (op operation) sign() (sign string, narrow bool) {
	switch op & 7 {
	case bpfobj.ClassALU, bpfobj.ClassALU64:
		return aluSigns[op&0xf0], op&7 == bpfobj.ClassALU
	}
	return jumpSigns[op&0xf0], op&7 == bpfobj.ClassJMP32
}

// fold evaluates a test with a stack. It returns false if the test has operators without operands,
// or several results.
func fold[T any](t Test, operand func(token) T, do func(op operation, x, y T) T) (result T,
	ok bool) {
	var stack []T
	for _, token := range t {
		n := len(stack)
		switch {
		case token.op >= isConstant:
			stack = append(stack, operand(token))
		case n < 2:
			return result, false
		default:
			stack = append(stack[:n-2], do(token.op, stack[n-2], stack[n-1]))
		}
	}
	if len(stack) != 1 {
		return result, false
	}
	return stack[0], true
}

// Holds reports whether the test holds for a kernel; value returns the facts.
func (t Test) Holds(value func(fact int) uint64) bool {
	n, _ := fold(t, func(t token) term {
		if t.op == isFact {
			return number(value(int(t.value)))
		}
		return number(t.value)
	}, func(op operation, x, y term) term {
		code, class := uint8(op&0xf0), op&7
		if class == bpfobj.ClassALU || class == bpfobj.ClassALU64 {
			return calculate(code, class == bpfobj.ClassALU64, x, y)
		}
		if taken, _ := compare(code, class == bpfobj.ClassJMP32, x, y); taken {
			return number(1)
		}
		return number(0)
	})
	return n != number(0)
}

// Renumber returns the same test about facts that are numbered differently, in a form that doesn't
// depend on the order of the operands of +, *, &, |, ^ and ==.
func (t Test) Renumber(fact func(fact int) int) Test {
	result, _ := fold(t, func(t token) Test {
		if t.op == isFact {
			return Fact(fact(int(t.value)))
		}
		return Test{t}
	}, func(op operation, x, y Test) Test {
		sign, _ := op.sign()
		if strings.Contains("+ * & | ^ == has", sign) && x.Compare(y) > 0 {
			x, y = y, x
		}
		return append(slices.Concat(x, y), token{op: op})
	})
	return result
}

// Compare orders tests. Tests of single facts come in the order of these facts.
func (t Test) Compare(o Test) int {
	return slices.CompareFunc(t, o, func(a, b token) int {
		return cmp.Or(cmp.Compare(b.op, a.op), cmp.Compare(a.value, b.value))
	})
}

// String is the test as text without spaces.
func (t Test) String() string {
	var words []string
	for _, token := range t {
		switch token.op {
		case isFact:
			words = append(words, strconv.FormatUint(token.value, 10))
		case isConstant:
			words = append(words, "#"+strconv.FormatInt(int64(token.value), 10))
		default:
			sign, narrow := token.op.sign()
			if narrow {
				sign += "32"
			}
			words = append(words, sign)
		}
	}
	return strings.Join(words, ",")
}

// ParseTest reads what String returned for a test about n facts.
func ParseTest(text string, n int) (Test, error) {
	var t Test
	for word := range strings.SplitSeq(text, ",") {
		constant, isNumber := strings.CutPrefix(word, "#")
		op, isOp := bySign[word]
		switch {
		case isOp:
			t = append(t, token{op: op})
		case isNumber:
			v, err := strconv.ParseInt(constant, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%q is not a number", word)
			}
			t = append(t, token{isConstant, uint64(v)})
		default:
			v, err := strconv.ParseUint(word, 10, 31)
			if err != nil || v >= uint64(n) {
				return nil, fmt.Errorf("%q is not one of %d relocations and symbols", word, n)
			}
			t = append(t, token{isFact, v})
		}
		if len(t) > maxTest {
			return nil, errors.New("a test in the condition is too long")
		}
	}
	none := func(token) struct{} { return struct{}{} }
	if _, ok := fold(t, none, func(op operation, x, y struct{}) struct{} { return x }); !ok {
		return nil, fmt.Errorf("%q is not a test", text)
	}
	return t, nil
}

// Words returns the test as text for users; fact returns the text of a fact.
func (t Test) Words(fact func(fact int) string) string {
	text, _ := fold(t, func(t token) string {
		if t.op == isFact {
			return fact(int(t.value))
		}
		return strconv.FormatInt(int64(t.value), 10)
	}, func(op operation, x, y string) string {
		sign, _ := op.sign()
		return "(" + x + " " + sign + " " + y + ")"
	})
	return text
}
