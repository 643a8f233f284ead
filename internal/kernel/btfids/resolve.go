package btfids

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Finding is a remark of Check or Resolve about a word of the section.
type Finding struct {
	Symbol string // that says what belongs there; of several, the first
	Offset uint32 // of the word, in bytes
	Text   string
}

func (f Finding) String() string {
	return fmt.Sprintf("section %s: symbol %q at offset %#x: %s", SectionName, f.Symbol, f.Offset,
		f.Text)
}

type target struct {
	ids   []id     // the places in .BTF_ids that get its id, by offset
	found []uint32 // the types of its kind and name, the lowest id first; no more than maxFound
	more  int      // how many others there are
}

type key struct {
	kind btf.Kind
	name string
}

// maxFound is how many types of one name a warning lists.
const maxFound = 4

// Resolve returns the section with the ids that types have in b and its bases: as many bytes as
// Parse has read. There is a warning, by offset, for each name with no type or with several: the
// kernel may find none, or a wrong one. resolve_btfids prints a WARN for these and goes on. Resolve
// may be called again with other BTF. It is an error if the section needs Restore first.
func (s *Section) Resolve(b *btf.Blob) ([]byte, []Finding, error) {
	if err := s.checkRestored(); err != nil {
		return nil, nil, err
	}
	targets := s.find(b)
	out := Section{data: bytes.Clone(s.data), order: s.order}
	for _, t := range targets {
		if len(t.found) > 0 {
			for _, x := range t.ids {
				out.put(x.at, t.found[0])
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
	for _, layer := range object.Chain(b) {
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

// finish counts and sorts a set. Entries with equal ids, such as 0, keep their order.
func (s *Section) finish(x *set) {
	s.put(x.at, x.n)
	entries := slices.Collect(slices.Chunk(bytes.Clone(s.data[x.first():x.end()]), int(x.entry)))
	slices.SortStableFunc(entries, func(a, b []byte) int {
		return cmp.Compare(int32(s.order.Uint32(a)), int32(s.order.Uint32(b)))
	})
	copy(s.data[x.first():], slices.Concat(entries...))
}

// warnings returns a warning for each name with no type or several.
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
