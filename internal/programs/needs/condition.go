package needs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Condition says for which outcomes of guards an instruction can be reached. It is a list of cubes,
// that is, of conjunctions of literals: the instruction can be reached if all literals of one cube
// hold. If there are no cubes, the instruction is never reached.
//
// A guard is a relocation, such as bpf_core_field_exists, with which a program tests whether the
// kernel has something before the program uses it. Package reach finds out which relocations are
// guarded in this way.
type Condition [][]Literal

// Literal is the outcome of a guard.
type Literal struct {
	Relocation int // index in Program.Relocations
	Found      bool
}

// Holds reports whether an instruction can be reached; found says which guards found something.
func (c Condition) Holds(found func(relocation int) bool) bool {
	return slices.ContainsFunc(c, func(cube []Literal) bool {
		return !slices.ContainsFunc(cube, func(l Literal) bool { return found(l.Relocation) != l.Found })
	})
}

// maxCubes is how many cubes a condition may have. A condition with more cubes counts as always
// true.
const maxCubes = 64

func compareLiterals(a, b Literal) int {
	return cmp.Or(cmp.Compare(a.Relocation, b.Relocation), compareBools(a.Found, b.Found))
}

func compareCubes(a, b []Literal) int { return slices.CompareFunc(a, b, compareLiterals) }

// normal returns the condition as the sorted list of its prime implicants, which is the same for
// all equivalent conditions (Blake's canonical form, by iterated consensus). If the second result is
// true, the condition holds for all outcomes.
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
	list = slices.Compact(list)
	for i := 1; i < len(list); i++ {
		if list[i].Relocation == list[i-1].Relocation {
			return nil, false
		}
	}
	return list, true
}

// implies reports whether the cube a has all literals of the cube b.
func implies(a, b []Literal) bool {
	return !slices.ContainsFunc(b, func(l Literal) bool { return !slices.Contains(a, l) })
}

// consensus returns the consensus of two cubes that contradict each other about exactly one guard:
// if the consensus holds, one of the two cubes holds.
func consensus(a, b []Literal) (both []Literal, ok bool) {
	opposite := -1
	for _, l := range a {
		if slices.Contains(b, Literal{l.Relocation, !l.Found}) {
			if opposite >= 0 {
				return nil, false
			}
			opposite = l.Relocation
		}
	}
	if opposite < 0 {
		return nil, false
	}
	for _, l := range slices.Concat(a, b) {
		if l.Relocation != opposite {
			both = append(both, l)
		}
	}
	return both, true
}

// String is the condition in the syntax of the file: "1 !2 | 4", or "never".
func (c Condition) String() string {
	if len(c) == 0 {
		return "never"
	}
	var cubes []string
	for _, cube := range c {
		var words []string
		for _, l := range cube {
			word := strconv.Itoa(l.Relocation)
			if !l.Found {
				word = "!" + word
			}
			words = append(words, word)
		}
		cubes = append(cubes, strings.Join(words, " "))
	}
	return strings.Join(cubes, " | ")
}

// parseCondition reads what String wrote for a program with n relocations.
func parseCondition(text string, n int) (Condition, error) {
	c := Condition{}
	if text == "never" {
		return c, nil
	}
	for cube := range strings.SplitSeq(text, " | ") {
		var list []Literal
		for word := range strings.SplitSeq(cube, " ") {
			number, not := strings.CutPrefix(word, "!")
			i, err := strconv.Atoi(number)
			if err != nil || i < 0 || i >= n {
				return nil, fmt.Errorf("%q is not one of %d relocations", word, n)
			}
			list = append(list, Literal{i, !not})
		}
		if c = append(c, list); len(c) > maxCubes {
			return nil, errors.New("the condition is too long")
		}
	}
	return c, nil
}
