package needs

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/programs/reach"
)

// Condition says in which kernels an instruction can be reached. It is a list of cubes, that is, of
// conjunctions of literals: the instruction can be reached if all literals of one cube hold. If
// there are no cubes, the instruction is never reached.
//
// A literal is the outcome of a test that a program makes before it uses something, such as
// bpf_core_field_exists(x), bpf_core_type_size(x) < 100, or bpf_ksym_exists(x). Package reach finds
// these tests. Their facts are numbered by Program.fact: the answers to the program's relocations,
// and then whether the program's symbols exist.
type Condition [][]Literal

// Literal is the outcome of a test.
type Literal = reach.Literal

// Holds reports whether an instruction can be reached; value returns the facts.
func (c Condition) Holds(value func(fact int) uint64) bool {
	return slices.ContainsFunc(c, func(cube []Literal) bool {
		return !slices.ContainsFunc(cube, func(l Literal) bool { return l.Test.Holds(value) != l.Found })
	})
}

// maxCubes is how many cubes a condition may have. A condition with more cubes counts as always
// true.
const maxCubes = 64

func compareLiterals(a, b Literal) int {
	return cmp.Or(a.Test.Compare(b.Test), compareBools(a.Found, b.Found))
}

func compareCubes(a, b []Literal) int { return slices.CompareFunc(a, b, compareLiterals) }

// normal returns the condition as the sorted list of its prime implicants, which is the same for
// all equivalent conditions (Blake's canonical form, by iterated consensus). If the second result
// is true, the condition holds for all outcomes.
func (c Condition) normal() (normal Condition, always bool) {
	normal = Condition{}
	for todo := slices.Clone(c); len(todo) > 0; {
		cube, ok := sorted(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if !ok || slices.ContainsFunc(normal, func(x []Literal) bool { return implies(cube, x) }) {
			continue
		}
		normal = slices.DeleteFunc(normal, func(x []Literal) bool { return implies(x, cube) })
		for _, other := range normal {
			if both, ok := consensus(cube, other); ok {
				todo = append(todo, both)
			}
		}
		if normal = append(normal, cube); len(cube) == 0 || len(normal) > maxCubes {
			return nil, true
		}
	}
	slices.SortFunc(normal, compareCubes)
	return normal, false
}

// sorted returns the literals of a cube, sorted and without duplicates. The result ok is false if
// the cube contradicts itself.
func sorted(cube []Literal) (list []Literal, ok bool) {
	list = slices.Clone(cube)
	slices.SortFunc(list, compareLiterals)
	list = slices.CompactFunc(list, same)
	for i := 1; i < len(list); i++ {
		if list[i].Test.Compare(list[i-1].Test) == 0 {
			return nil, false
		}
	}
	return list, true
}

// implies reports whether the cube a has all literals of the cube b.
func implies(a, b []Literal) bool {
	return !slices.ContainsFunc(b, func(l Literal) bool { return !contains(a, l) })
}

func same(a, b Literal) bool { return compareLiterals(a, b) == 0 }

func contains(cube []Literal, l Literal) bool {
	return slices.ContainsFunc(cube, func(other Literal) bool { return same(l, other) })
}

// consensus returns the consensus of two cubes that contradict each other about exactly one test:
// if the consensus holds, one of the two cubes holds.
func consensus(a, b []Literal) (both []Literal, ok bool) {
	var opposite reach.Test
	for _, l := range a {
		if contains(b, Literal{Test: l.Test, Found: !l.Found}) {
			if opposite != nil {
				return nil, false
			}
			opposite = l.Test
		}
	}
	if opposite == nil {
		return nil, false
	}
	for _, l := range slices.Concat(a, b) {
		if l.Test.Compare(opposite) != 0 {
			both = append(both, l)
		}
	}
	return both, true
}

// String is the condition in the syntax of the file: "1 !2 | 4,#100,>", or "never".
// Rule: .needs: conditions.
func (c Condition) String() string {
	if len(c) == 0 {
		return "never"
	}
	var cubes []string
	for _, cube := range c {
		var words []string
		for _, l := range cube {
			word := l.Test.String()
			if !l.Found {
				word = "!" + word
			}
			words = append(words, word)
		}
		cubes = append(cubes, strings.Join(words, " "))
	}
	return strings.Join(cubes, " | ")
}

// parseCondition reads what String wrote for a program with n facts.
func parseCondition(text string, n int) (Condition, error) {
	c := Condition{}
	if text == "never" {
		return c, nil
	}
	for cube := range strings.SplitSeq(text, " | ") {
		var list []Literal
		for word := range strings.SplitSeq(cube, " ") {
			text, not := strings.CutPrefix(word, "!")
			t, err := reach.ParseTest(text, n)
			if err != nil {
				return nil, err
			}
			list = append(list, Literal{Test: t, Found: !not})
		}
		if c = append(c, list); len(c) > maxCubes {
			return nil, errors.New("the condition is too long")
		}
	}
	return c, nil
}
