package shared

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Figures is a number of types or strings, and their total size in bytes.
type Figures struct {
	Count int `json:"count"`
	Bytes int `json:"bytes"`
}

func (f *Figures) add(count, bytes int) {
	f.Count += count
	f.Bytes += bytes * count
}

// Part describes one kind of content of the modules, such as structs or strings.
type Part struct {
	Name string `json:"name"` // "struct", "strings" …
	Figures
	// Repeats counts all occurrences of each type or string, except the first.
	Repeats Figures `json:"repeats"`
}

// Repeat is a named type that several modules hold.
type Repeat struct {
	Kind    string `json:"kind"` // "struct", …; tags that are only declared are "fwd" or "enum"
	Name    string `json:"name"`
	Modules int    `json:"modules"`
	Bytes   int    `json:"bytes"` // of its record
	Cost    int    `json:"cost"`  // bytes of all records of the type except the first
}

// Saving describes a base with the types that several modules hold, and how many bytes it saves.
type Saving struct {
	Types   Figures `json:"types"`
	Strings Figures `json:"strings"`
	// WithoutTypes and WithoutStrings count what the modules no longer hold if they use this base.
	WithoutTypes   Figures `json:"without_types"`
	WithoutStrings Figures `json:"without_strings"`
}

// Saved returns how many bytes the modules no longer hold, minus the size of the base.
func (b *Saving) Saved() int {
	return b.WithoutTypes.Bytes + b.WithoutStrings.Bytes - b.Types.Bytes - b.Strings.Bytes -
		btf.HeaderLen
}

// Report has the figures of a set of modules.
type Report struct {
	Schema  int    `json:"schema"`
	Modules int    `json:"modules"`
	Bytes   int    `json:"bytes"` // of all modules
	Parts   []Part `json:"parts"` // one per kind, then headers and strings
	// These count the modules' definitions of tags that the base defines differently (Redefined) or
	// only declares (Declared).
	Redefined Figures  `json:"redefined"`
	Declared  Figures  `json:"declared"`
	Shared    Saving   `json:"shared"`
	Repeats   int      `json:"repeats"` // named types that several modules hold
	Types     []Repeat `json:"types"`   // these types, the highest cost first
}

const schema = 1

// Report makes the report, which lists at most limit types; if limit is 0, it lists all.
// Rule: size: what makes the BTF of many modules large.
func (s *Set) Report(below base.Base, limit int) *Report {
	c := s.findContents(s.findTags(below))
	r := &Report{Schema: schema, Modules: len(s.modules), Types: []Repeat{}}
	headers := Part{Name: "headers"}
	for _, m := range s.modules {
		r.Bytes += m.size
		headers.add(1, m.size-m.strings-m.types)
	}
	kinds := s.kinds
	for content, i := range c.first {
		if content == 0 {
			continue
		}
		t := &c.shapes.Types[c.held.shape[i]]
		bytes, count, modules := recordLen(t), int(c.count[content]), int(c.modules[content])
		kinds[t.Kind].Repeats.add(count-1, bytes)
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
	r.Shared = c.saving(c.chooseShared(), below)
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

// saving describes a base that consists of the chosen contents.
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

// sameNames counts the modules' definitions of tags that the base also defines or declares.
func (c *contents) sameNames(r *Report, below base.Base) {
	for _, shape := range c.held.shape {
		stub := c.shapes.stub[shape]
		if stub == 0 || stub == shape {
			continue
		}
		bytes := recordLen(&c.shapes.Types[shape])
		switch definition, declaration, _ := below.Tag(c.shapes.hashes[stub]); {
		case definition != 0:
			r.Redefined.add(1, bytes)
		case declaration != 0:
			r.Declared.add(1, bytes)
		}
	}
}
