package shared

import "github.com/rules-btf/rules_btf/internal/model/refine"

// contents are the distinct types of all modules, numbered from 1.
type contents struct {
	*Set
	tags  *tags
	of    []uint32 // by held type: its content; 0 if it has no shape
	first []uint32 // by content: a held type that has it, if possible a definition
	// These say, by content, how many held types have it, how many held types only declare it, and how
	// many modules hold it (a module that only declares it doesn't count).
	count, declared, modules []uint32
	// unclear says which contents lead to a tag whose meaning is unclear in some module (findUnclear).
	unclear []bool
}

// findContents finds which types of the modules are equal: those with the same shape or, if types
// of that shape can differ (tags.varies), those in the same class of the partition refinement.
// Rule: shared base: which types of modules are equal.
func (s *Set) findContents(t *tags) *contents {
	c := &contents{Set: s, tags: t, of: make([]uint32, len(s.held.shape)), first: []uint32{0}}
	c.classes()
	byShape := make([]uint32, len(s.shapes.hashes))
	for i, shape := range s.held.shape {
		if shape == 0 || c.of[i] != 0 {
			continue
		}
		if d := t.definition[shape]; d != 0 { // a declaration, which means the definition
			shape = d
		}
		if byShape[shape] == 0 {
			byShape[shape] = uint32(len(c.first))
			c.first = append(c.first, uint32(i))
		}
		c.of[i] = byShape[shape]
		if f := &c.first[c.of[i]]; s.held.shape[*f] != shape {
			*f = uint32(i)
		}
	}
	c.countHolders()
	c.findUnclear()
	return c
}

func (c *contents) countHolders() {
	n := len(c.first)
	c.count, c.declared, c.modules = make([]uint32, n), make([]uint32, n), make([]uint32, n)
	seen := make([]int, n) // by content: the last module that holds it, counted from 1
	for m := range c.Set.modules {
		for i := c.Set.modules[m].first; i < c.Set.modules[m].end; i++ {
			content := c.of[i]
			switch {
			case content == 0:
			case c.isStub(i) && !c.isStub(c.first[content]):
				c.declared[content]++
			default:
				c.count[content]++
				if seen[content] <= m {
					seen[content] = m + 1
					c.modules[content]++
				}
			}
		}
	}
}

// isStub reports whether a held type only declares a tag.
func (c *contents) isStub(i uint32) bool {
	shape := c.held.shape[i]
	return shape != 0 && c.shapes.stub[shape] == shape
}

// apart(i) reports whether held types with i's shape must be distinguished from each other:
// whether tags.varies is set for the shape, or for the tag that the shape defines.
func (c *contents) apart(i uint32) bool {
	shape := c.held.shape[i]
	return c.tags.varies[shape] || c.tags.varies[c.shapes.stub[shape]]
}

// classes sets the contents of the held types that must be distinguished.
func (c *contents) classes() {
	node := make([]uint32, len(c.held.shape)) // by held type: its index in list plus 1, or 0
	var list []uint32
	for i := range c.held.shape {
		if c.apart(uint32(i)) {
			list = append(list, uint32(i))
			node[i] = uint32(len(list))
		}
	}
	numbers := map[uint32]uint32{}
	labels, first, refs := make([]uint32, len(list)), make([]uint32, 1, len(list)+1), []uint32{}
	for n, i := range list {
		shape := c.held.shape[i]
		number, ok := numbers[shape]
		if !ok {
			number = uint32(len(numbers))
			numbers[shape] = number
		}
		labels[n] = number
		for _, r := range c.refs(i) {
			if node[r] != 0 {
				refs = append(refs, node[r]-1)
			}
		}
		first = append(first, uint32(len(refs)))
	}
	class, count := refine.Classes(labels, first, refs)
	c.first = make([]uint32, 1+count)
	for n, i := range list {
		c.of[i] = class[n] + 1
		c.first[class[n]+1] = i
	}
}

func (c *contents) refs(i uint32) []uint32 {
	return c.held.refs[c.held.first[i]:c.held.first[i+1]]
}
