package btfids

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// Check compares the ids in a file's .BTF_ids with those that Resolve would write. It returns the
// wrong words, sorted by offset, or none if the file has no such section. If a name has no type,
// the id 0 is correct, except in a set8: there, Check reports the id 0, because the kernel rejects
// a set of kfuncs with that id (btf_check_kfunc_protos).
// Rule: .BTF_ids: checking ids. Source: kernel btf_check_kfunc_protos.
func Check(f *elf.File, b *btf.Blob) ([]Finding, error) {
	s, err := Find(f)
	if s == nil || err != nil {
		return nil, err
	}
	sec, err := find(f)
	if err != nil {
		return nil, err
	}
	return s.check(sec.Raw(), b), nil
}

// check compares data, the bytes that Parse read, with the types in b.
func (s *Section) check(data []byte, b *btf.Blob) []Finding {
	c := &check{Section: Section{data: data, order: s.order}, types: b, want: map[uint32]uint32{}}
	for _, t := range s.find(b) {
		if len(t.found) > 0 {
			for _, x := range t.ids {
				c.want[x.at] = t.found[0]
			}
		}
	}
	for i := range s.ids {
		x := &s.ids[i]
		if has := c.word(x.at); has != c.want[x.at] && s.setAt(x.at) == nil {
			c.report(x.symbol, x.at, c.explain(x, has))
		}
	}
	for i := range s.sets {
		c.set(&s.sets[i])
	}
	slices.SortStableFunc(c.wrong, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	if len(c.wrong) > 0 && !s.had {
		return []Finding{{c.wrong[0].Symbol, c.wrong[0].Offset,
			"the section is not resolved: all ids and counts are 0; use btfdedup resolve-ids"}}
	}
	return c.wrong
}

// check is the state of Section.check. The embedded Section has the bytes to check.
type check struct {
	Section
	types *btf.Blob
	want  map[uint32]uint32 // the expected ids, by offset
	wrong []Finding
}

func (c *check) report(symbol string, at uint32, text string) {
	// Copy the name: symbol points into the file, which may be closed before the caller reads the
	// finding.
	c.wrong = append(c.wrong, Finding{strings.Clone(symbol), at, text})
}

func (c *check) explain(x *id, has uint32) string {
	want := c.want[x.at]
	if has == 0 {
		return fmt.Sprintf("its id is 0; expected [%d], which is %v %q", want, x.kind, x.name)
	}
	what := "not in the BTF"
	if typ, layer := c.types.ByID(has); typ != nil {
		what = fmt.Sprintf("%v %q", typ.Kind, layer.TypeName(typ))
		if typ.Kind == x.kind && layer.TypeName(typ) == x.name {
			return fmt.Sprintf("its id %d is %s; expected the first one, [%d]", has, what, want)
		}
	}
	if want == 0 {
		return fmt.Sprintf("its id %d is %s, but there is no %v %q", has, what, x.kind, x.name)
	}
	return fmt.Sprintf("its id %d is %s; expected [%d], %v %q", has, what, want, x.kind, x.name)
}

// place is an entry of a set: either one that the section has, or one that it should have.
type place struct {
	id     uint32
	at     uint32
	symbol *id // nil for an entry without a symbol
}

// set compares the sorted entries of a set with its symbols.
func (c *check) set(x *set) {
	if n := c.word(x.at); n != x.n {
		c.report(x.symbol, x.at, fmt.Sprintf("its count is %d, but it has %d entries", n, x.n))
	}
	want, has := c.places(x)
	for i := 1; i < len(has); i++ {
		if a, b := has[i-1], has[i]; int32(a.id) > int32(b.id) {
			c.report(x.symbol, b.at, fmt.Sprintf("the set is not sorted: id %d follows %d", b.id, a.id))
			break
		}
	}
	byID := func(a, b place) int { return cmp.Compare(int32(a.id), int32(b.id)) }
	slices.SortStableFunc(want, byID)
	slices.SortStableFunc(has, byID)
	missing, surplus := without(want, has), without(has, want)
	for i, d := range missing { // surplus is as long as missing
		h := surplus[i]
		if d.symbol == nil {
			c.report(x.symbol, h.at, fmt.Sprintf("the entry has the id %d, but no symbol", h.id))
			continue
		}
		c.report(d.symbol.symbol, h.at, c.explain(d.symbol, h.id))
	}
}

// places returns the entries that a set should have, and those that it has, both sorted by offset.
// It reports kfuncs that don't exist.
func (c *check) places(x *set) (want, has []place) {
	symbols := x.ids
	for at := x.first(); at < x.end(); at += x.entry {
		d := place{at: at}
		if len(symbols) > 0 && symbols[0].at == at {
			d.symbol, d.id = &symbols[0], c.want[at]
			symbols = symbols[1:]
			if d.id == 0 && x.entry == set8Entry {
				c.report(d.symbol.symbol, at, fmt.Sprintf("there is no %v %q; the kernel rejects a set "+
					"of kfuncs with the id 0", d.symbol.kind, d.symbol.name))
			}
		}
		want, has = append(want, d), append(has, place{id: c.word(at), at: at})
	}
	return want, has
}

// without removes entries from the list a, and returns the rest. Each entry of the list b removes
// at most one entry of a: one that has the same id. Both lists are sorted by id.
func without(a, b []place) []place {
	var left []place
	for _, x := range a {
		for len(b) > 0 && int32(b[0].id) < int32(x.id) {
			b = b[1:]
		}
		if len(b) > 0 && b[0].id == x.id {
			b = b[1:]
			continue
		}
		left = append(left, x)
	}
	return left
}
