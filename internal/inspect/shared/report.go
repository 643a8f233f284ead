package shared

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Figures count types, or strings, and their bytes.
type Figures struct {
	Count int `json:"count"`
	Bytes int `json:"bytes"`
}

func (f *Figures) add(count, bytes int) {
	f.Count += count
	f.Bytes += bytes * count
}

// Part is a part of what the modules hold.
type Part struct {
	Name string `json:"name"` // "struct", "strings" …
	Figures
	// Repeats are those that an earlier module has too. The order of the modules doesn't matter.
	Repeats Figures `json:"repeats"`
}

// Repeat is a named type that several modules hold.
type Repeat struct {
	Kind    string `json:"kind"` // "struct", …; tags that are only declared are "fwd" or "enum"
	Name    string `json:"name"`
	Modules int    `json:"modules"`
	Bytes   int    `json:"bytes"` // of its record
	Cost    int    `json:"cost"`  // bytes of the records of all modules but one
}

// Saving is the content of a base of the types that two or more modules hold, and what it saves.
type Saving struct {
	Types   Figures `json:"types"`
	Strings Figures `json:"strings"`
	// WithoutTypes and WithoutStrings are what the modules would no longer hold.
	WithoutTypes   Figures `json:"without_types"`
	WithoutStrings Figures `json:"without_strings"`
}

// Saved returns how many bytes the base would save, after its own bytes.
func (b *Saving) Saved() int {
	return b.WithoutTypes.Bytes + b.WithoutStrings.Bytes - b.Types.Bytes - b.Strings.Bytes -
		btf.HeaderLen
}

// Report has the figures of a set of modules.
type Report struct {
	Schema  int     `json:"schema"`
	Modules int     `json:"modules"`
	Bytes   int     `json:"bytes"`   // of all modules
	Parts   []Part  `json:"parts"`   // by kind; headers and strings
	InBase  Figures `json:"in_base"` // types that the base has too: 0 in BTF that the link made
	Twice   Figures `json:"twice"`   // further types of equal content in one module: 0 likewise
	// Definitions of tags that the base defines in another way; of tags that the base only declares;
	// and the second and further definitions of a tag in one module.
	Redefined Figures  `json:"redefined"`
	Declared  Figures  `json:"declared"`
	Several   Figures  `json:"several"`
	Shared    Saving   `json:"shared"`
	Repeats   int      `json:"repeats"` // named types that several modules hold
	Types     []Repeat `json:"types"`   // these, those of the highest cost first
}

const schema = 1

// Report makes the report, with at most limit types; 0 means all.
func (s *Set) Report(below base.Base, limit int) *Report {
	c := s.findContents(s.findTags(below))
	r := &Report{Schema: schema, Modules: len(s.modules), Types: []Repeat{}}
	headers := Part{Name: "headers"}
	for _, m := range s.modules {
		r.Bytes += m.size
		headers.add(1, m.size-m.strings-m.types)
	}
	kinds := s.kinds
	in := c.inBase()
	for content, i := range c.first {
		if content == 0 {
			continue
		}
		t := &c.shapes.Types[c.held.shape[i]]
		bytes, count, modules := recordLen(t), int(c.count[content]), int(c.modules[content])
		kinds[t.Kind].Repeats.add(count-1, bytes)
		r.Twice.add(count-modules, bytes)
		if in[content] {
			r.InBase.add(count, bytes)
		}
		if name := c.g.Strs.String(types.Str(t.NameOff)); name != "" && modules > 1 {
			r.Types = append(r.Types, Repeat{strings.ToLower(t.Kind.String()), name, modules, bytes,
				bytes * (count - 1)})
		}
	}
	for k := range kinds {
		if kinds[k].Count > 0 {
			kinds[k].Name = strings.ToLower(btf.Kind(k).String())
			r.Parts = append(r.Parts, kinds[k])
		}
	}
	r.Parts = append(r.Parts, headers, s.stringFigures())
	c.sameNames(r, below)
	r.Shared = c.saving(c.choose(), below)
	slices.SortFunc(r.Types, func(a, b Repeat) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.Modules, a.Modules))
	})
	r.Repeats = len(r.Types)
	if limit > 0 {
		r.Types = r.Types[:min(limit, len(r.Types))]
	}
	return r
}

func recordLen(t *btf.Type) int { return int(t.Kind.RecordLen(t.Vlen)) }

func (s *Set) stringFigures() Part {
	p := Part{Name: "strings"}
	for str, n := range s.users {
		length := len(s.g.Strs.Bytes(types.Str(str))) + 1
		p.add(int(n), length)
		p.Repeats.add(max(0, int(n)-1), length)
	}
	return p
}

// saving returns what a base of the chosen contents has and saves.
func (c *contents) saving(chosen []bool, below base.Base) Saving {
	var b Saving
	named := make([]bool, c.g.Strs.Len())
	for content, is := range chosen {
		if !is {
			continue
		}
		t := &c.shapes.Types[c.held.shape[c.first[content]]]
		b.Types.add(1, recordLen(t))
		b.WithoutTypes.add(int(c.count[content]), recordLen(t))
		b.WithoutTypes.add(int(c.declared[content]), int(btf.KindFwd.RecordLen(0)))
		for name := range c.shapes.Names(t) {
			named[name] = true
		}
	}
	named[0] = false
	for str, is := range named {
		if name := c.g.Strs.Bytes(types.Str(str)); is && below.String(name) == 0 {
			b.Strings.add(1, len(name)+1)
			if str < len(c.users) {
				b.WithoutStrings.add(int(c.users[str]), len(name)+1)
			}
		}
	}
	return b
}

// sameNames counts the definitions of tags that the base, or the same module, has too.
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
