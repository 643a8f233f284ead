package diff

import (
	"fmt"
	"strings"
)

// noPartner represents the missing node in a pair that has only one node.
const noPartner = ^uint32(0)

// pair pairs the types of one side (a) with those of the other (b), the most similar ones first.
// Each type is in one pair; a type without a partner is paired with noPartner.
func (c *comparison) pair(a, b []uint32) [][2]uint32 {
	var pairs [][2]uint32
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	take := func(i, j int) {
		usedA[i], usedB[j] = true, true
		pairs = append(pairs, [2]uint32{a[i], b[j]})
	}
	if len(a)+len(b) > 2 {
		c.pairByText(a, b, take)
	}
	const many = 256 // with more possible pairs, the rest is paired in list order
	if n := len(a) * len(b); n > 1 && n <= many {
		for want := 2; want > 0; want-- {
			for i := range a {
				for j := range b {
					if !usedA[i] && !usedB[j] && c.likeness(a[i], b[j]) >= want {
						take(i, j)
					}
				}
			}
		}
	}
	j := 0
	for i := range a {
		if usedA[i] {
			continue
		}
		for j < len(b) && usedB[j] {
			j++
		}
		if j < len(b) {
			take(i, j)
		} else {
			pairs = append(pairs, [2]uint32{a[i], noPartner})
		}
	}
	for j := range b {
		if !usedB[j] {
			pairs = append(pairs, [2]uint32{noPartner, b[j]})
		}
	}
	return pairs
}

// pairByText calls take for each pair of types with equal records whose references have equal
// texts. Such types differ only in types that they refer to indirectly.
func (c *comparison) pairByText(a, b []uint32, take func(i, j int)) {
	text := func(n uint32) string {
		var t strings.Builder
		fmt.Fprint(&t, c.label[n])
		for _, k := range c.children(n) {
			t.WriteByte(0)
			t.WriteString(c.spell(k))
		}
		return t.String()
	}
	byText := map[string][]int{}
	for j := range b {
		k := text(b[j])
		byText[k] = append(byText[k], j)
	}
	for i := range a {
		k := text(a[i])
		if js := byText[k]; len(js) > 0 {
			take(i, js[0])
			byText[k] = js[1:]
		}
	}
}

// likeness returns 2 if two records differ only in references, 1 if at least their sizes and
// numbers of elements are equal, and 0 otherwise.
func (c *comparison) likeness(a, b uint32) int {
	if c.label[a] == c.label[b] {
		return 2
	}
	if x, y := c.nodes[a].typ, c.nodes[b].typ; x.SizeOrType == y.SizeOrType && x.Vlen == y.Vlen {
		return 1
	}
	return 0
}
