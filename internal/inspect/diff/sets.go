package diff

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/refine"
)

// Set is the BTF of a kernel and of its modules.
type Set struct {
	Kernel  *btf.Blob
	Modules map[string]*btf.Blob // by name; each is based on Kernel, or on BTF that is based on Kernel
}

// Module says how a module differs.
type Module struct {
	Name        string       `json:"name"`
	Class       Class        `json:"class"` // Indirect if only types to which it refers differ
	Differences []Difference `json:"differences"`
	Summary     Summary      `json:"summary"`
}

// Result is the result of a comparison.
type Result struct {
	Differences []Difference `json:"differences"` // of the kernels, if sets were compared
	Summary     Summary      `json:"summary"`
	Modules     []Module     `json:"modules,omitempty"` // those that differ
}

// Same reports whether nothing differs.
func (r Result) Same() bool { return r.Summary.Same() && len(r.Modules) == 0 }

// CompareSets is Compare for the kernels of two sets, and for each two modules with the same name.
// It lists the modules that only one set has, and those that differ, by Class and then by name.
// Rule: diff: kernels with their modules.
func CompareSets(a, b Set, opts Options) Result {
	// All types of both sets are nodes of one graph, so that it is refined only once.
	sides := [2]Side{a.Blobs(), b.Blobs()}
	c := &comparison{graph: newGraph(sides[0], sides[1]), opts: opts, groups: map[key]*group{},
		work: newWork()}
	var placed [2]map[*btf.Blob]placedBlob
	for i, side := range sides {
		placed[i] = map[*btf.Blob]placedBlob{}
		for _, p := range c.add(side) {
			placed[i][p.Blob] = p
		}
	}
	c.content, c.contents = refine.Classes(c.label, c.first, c.kids)
	c.collect(0, 1, []placedBlob{placed[0][a.Kernel]})
	c.collect(1, 1, []placedBlob{placed[1][b.Kernel]})
	list, summary := c.report()

	// For the modules, all types that are not in modules are in bases.
	for i, set := range []Set{a, b} {
		c.has[i] = make([]place, c.contents)
		for blob, p := range placed[i] {
			if set.isModule(blob) {
				continue
			}
			for n := p.at; n < p.at+uint32(len(p.Types)); n++ {
				c.has[i][c.content[n]] = inBase
			}
		}
	}
	modules := []Module{}
	for _, name := range names(a, b) {
		x, y := a.Modules[name], b.Modules[name]
		m := Module{Name: name, Differences: []Difference{}}
		switch {
		case y == nil:
			m.Class = OnlyA
		case x == nil:
			m.Class = OnlyB
		default:
			m.Differences, m.Summary = c.compareModules(placed[0][x], placed[1][y])
			if m.Summary.Same() {
				continue
			}
			if m.Class = Differs; m.Summary.OnlyA+m.Summary.OnlyB+m.Summary.Differs+
				m.Summary.Forward == 0 {
				m.Class = Indirect
			}
		}
		modules = append(modules, m)
	}
	slices.SortStableFunc(modules, func(a, b Module) int {
		return cmp.Compare(moduleRank[a.Class], moduleRank[b.Class])
	})
	return Result{list, summary, modules}
}

var moduleRank = map[Class]int{OnlyA: 1, OnlyB: 2, Differs: 3, Indirect: 4}

// Blobs returns all blobs of a set that are not bases of others. The first one has the longest
// chain of bases.
func (s Set) Blobs() Side {
	if len(s.Modules) == 0 {
		return Side{s.Kernel}
	}
	var side Side
	for _, name := range names(s) {
		side = append(side, s.Modules[name])
	}
	depth := func(b *btf.Blob) (n int) {
		for ; b != nil; b = b.Base {
			n++
		}
		return n
	}
	slices.SortStableFunc(side, func(a, b *btf.Blob) int { return cmp.Compare(depth(b), depth(a)) })
	return side
}

func (s Set) isModule(b *btf.Blob) bool {
	for _, m := range s.Modules {
		if m == b {
			return true
		}
	}
	return false
}

func names(sets ...Set) []string {
	var list []string
	for _, s := range sets {
		for name := range s.Modules {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// compareModules compares the own types of two modules.
func (c *comparison) compareModules(a, b placedBlob) ([]Difference, Summary) {
	c.groups, c.order, c.summary = map[key]*group{}, nil, Summary{}
	c.summary.TypesA, c.summary.TypesB = len(a.Types), len(b.Types)
	var before [2]map[uint32]place // what has said, by content
	for side, p := range []placedBlob{a, b} {
		before[side] = make(map[uint32]place, len(p.Types))
		for n := p.at; n < p.at+uint32(len(p.Types)); n++ {
			content := c.content[n]
			if _, known := before[side][content]; known {
				*[2]*int{&c.summary.DuplicatesA, &c.summary.DuplicatesB}[side]++
				continue
			}
			before[side][content] = c.has[side][content]
			c.group(side, n, true)
		}
	}
	list, summary := c.report()
	for side := range 2 {
		for content, was := range before[side] {
			c.has[side][content] = was
		}
	}
	return list, summary
}
