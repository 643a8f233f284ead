package shared

// choose returns the contents that are shared, by content: those that two or more modules hold, and
// what they refer to. One that leads to a tag that some module only declares, and of which there
// are several definitions, is not shared: the module does not say which one it means, and linked on
// the shared base it would mean that one.
func (c *contents) choose() []bool {
	chosen := make([]bool, len(c.first))
	var work []uint32
	add := func(content uint32) {
		if content != 0 && !chosen[content] {
			chosen[content] = true
			work = append(work, content)
		}
	}
	for content, n := range c.modules {
		if n > 1 && !c.unclear[content] {
			add(uint32(content))
		}
	}
	for len(work) > 0 {
		content := work[len(work)-1]
		work = work[:len(work)-1]
		for _, r := range c.refs(c.first[content]) {
			add(c.of[r])
		}
	}
	return chosen
}
