package btfids

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Finding is what Check and Resolve have to say of a word of the section.
type Finding struct {
	Symbol string // that names what belongs there; of several, the first
	Offset uint32 // of the word, in bytes
	Text   string
}

func (f Finding) String() string {
	return fmt.Sprintf("section %s: symbol %q at offset %#x: %s", SectionName, f.Symbol, f.Offset,
		f.Text)
}

// target is a name to be found among the types.
type target struct {
	ids   []id     // the places in .BTF_ids that get its id, by offset
	found []uint32 // the types of its kind and name, the lowest id first; no more than maxFound
	more  int      // how many others there are
}

// key is what tells one target from another.
type key struct {
	kind btf.Kind
	name string
}

// maxFound is how many types of one name a warning lists.
const maxFound = 4

// Resolve returns the section with the ids that types have in b, which may be split BTF on its
// bases: as many bytes as Parse has read. The warnings, by offset, are of names that are not one
// type: the kernel will not find it, or maybe not the one that is meant; resolve_btfids prints a
// WARN for each, and goes on. Calling it again with other BTF is fine. It is an error if the
// section needs Restore first.
func (s *Section) Resolve(b *btf.Blob) ([]byte, []Finding, error) {
	if err := s.checkRestored(); err != nil {
		return nil, nil, err
	}
	targets := s.find(b)
	out := Section{data: bytes.Clone(s.data), order: s.order}
	for _, t := range targets {
		if len(t.found) > 0 {
			for i := range t.ids {
				out.put(t.ids[i].at, t.found[0])
			}
		}
	}
	for i := range s.sets {
		out.finish(&s.sets[i])
	}
	return out.data, warnings(targets), nil
}

// find finds all names in b and its bases, from the deepest base on.
func (s *Section) find(b *btf.Blob) []target {
	at := map[key]int{}
	var targets []target
	var wanted [btf.NumKinds]bool
	for _, x := range s.ids {
		k := key{x.kind, x.name}
		i, ok := at[k]
		if !ok {
			i = len(targets)
			at[k] = i
			targets = append(targets, target{})
			wanted[x.kind] = true
		}
		targets[i].ids = append(targets[i].ids, x)
	}
	for _, layer := range chain(b) {
		for i := range layer.Types {
			typ := &layer.Types[i]
			if !wanted[typ.Kind] {
				continue
			}
			n, ok := at[key{typ.Kind, layer.TypeName(typ)}]
			if !ok {
				continue
			}
			if t := &targets[n]; len(t.found) < maxFound {
				t.found = append(t.found, layer.StartID+uint32(i))
			} else {
				t.more++
			}
		}
	}
	return targets
}

// chain is b and its bases, the deepest first.
func chain(b *btf.Blob) []*btf.Blob {
	var list []*btf.Blob
	for ; b != nil; b = b.Base {
		list = append(list, b)
	}
	slices.Reverse(list)
	return list
}

// finish counts and sorts a set. Entries of equal ids, those that were not found, keep their order.
func (s *Section) finish(x *set) {
	s.put(x.at, x.n)
	entries := make([]entry, x.n)
	for i := range entries {
		at := x.first() + uint32(i)*x.entry
		entries[i].id = s.word(at)
		if x.entry == set8Entry {
			entries[i].flags = s.word(at + 4)
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Compare(int32(a.id), int32(b.id))
	})
	for i, e := range entries {
		at := x.first() + uint32(i)*x.entry
		s.put(at, e.id)
		if x.entry == set8Entry {
			s.put(at+4, e.flags)
		}
	}
}

// warnings are those of the names that mean no type or several.
func warnings(targets []target) []Finding {
	var list []Finding
	for i := range targets {
		t := &targets[i]
		x := &t.ids[0]
		var text string
		switch {
		case len(t.found) == 0:
			text = fmt.Sprintf("the BTF has no %v %q; its id is 0", x.kind, x.name)
			if n := len(t.ids) - 1; n > 0 {
				text += fmt.Sprintf(", as are those of %d more symbols of that name", n)
			}
		case len(t.found) > 1:
			var ids strings.Builder
			for _, id := range t.found[1:] {
				fmt.Fprintf(&ids, ", %d", id)
			}
			if t.more > 0 {
				fmt.Fprintf(&ids, " and %d more", t.more)
			}
			text = fmt.Sprintf("the BTF has several types %v %q; its id is that of the first, %d%s",
				x.kind, x.name, t.found[0], ids.String())
		default:
			continue
		}
		list = append(list, Finding{x.symbol, x.at, text})
	}
	slices.SortFunc(list, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	return list
}
