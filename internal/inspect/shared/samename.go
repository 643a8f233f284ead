package shared

import "github.com/rules-btf/rules_btf/internal/link/base"

// sameNames counts the definitions of tags that a module has although the base or the module itself
// has that tag too.
func (c *contents) sameNames(r *Report, below base.Base) {
	last := make([]int, len(c.shapes.hashes)) // by stub: the last module that defines it, from 1 on
	for m, figures := range c.Set.modules {
		for i := figures.first; i < figures.end; i++ {
			shape := c.held.shape[i]
			stub := c.shapes.stub[shape]
			if stub == 0 || stub == shape {
				continue
			}
			bytes := recordLen(&c.shapes.Types[shape])
			switch definition, declaration, _ := below.Tag(c.shapes.hashes[stub]); {
			case last[stub] == m+1:
				r.Several.add(1, bytes)
			case definition != 0:
				r.Redefined.add(1, bytes)
			case declaration != 0:
				r.Declared.add(1, bytes)
			}
			last[stub] = m + 1
		}
	}
}
