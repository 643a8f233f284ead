package verify

import "github.com/rules-btf/rules_btf/internal/format/btf"

// chains checks that chains of modifiers end, as the kernel does for all BTF
// (btf_check_modifier_chain_length). Modifiers are checked by ascending id. A chain is followed
// only until it reaches an id up to that of the last modifier that was good. Kernels before 7.2
// (btf_check_type_tags) also require tags to precede other modifiers.
// Rule: verify: chains of modifiers. Source: kernel btf_check_modifier_chain_length.
func (c *checker) chains() {
	good := c.b.StartID - 1
	for i := range c.b.Types {
		if !c.b.Types[i].Kind.IsModifier() || c.bad[i] {
			continue
		}
		if id := c.b.StartID + uint32(i); c.chainEnds(uint32(i), id, good) {
			good = id
		}
		t := &c.b.Types[i]
		to, _ := c.b.ByID(t.SizeOrType)
		if to != nil && to.Kind == btf.KindTypeTag && t.Kind != btf.KindTypeTag {
			c.report(Reader, uint32(i), "tag-order",
				"it refers to [%d], a TYPE_TAG; kernels before 7.2 reject a tag after another modifier",
				t.SizeOrType)
		}
	}
}

func (c *checker) chainEnds(i, id, good uint32) bool {
	for n := 0; ; n++ {
		t, _ := c.b.ByID(id)
		switch {
		case t == nil && id != 0:
			c.report(Boot, i, "type-id", "it leads to type id %d, which does not exist", id)
			return false
		case t == nil || !t.Kind.IsModifier():
			return true
		case n == btf.MaxModifiers:
			c.report(Boot, i, "modifier-chain", "it begins a chain of more than %d modifiers, or a loop",
				btf.MaxModifiers)
			return false
		case id <= good:
			return true
		}
		id = t.SizeOrType
	}
}
