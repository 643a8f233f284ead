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

// Finding is something that Check or Resolve reports about a word of the section.
type Finding struct {
	Symbol string // the symbol of the word, or of the first word if there are several
	Offset uint32 // of the word in the section, in bytes
	Text   string
}

func (f Finding) String() string {
	return fmt.Sprintf("section %s: symbol %q at offset %#x: %s", SectionName, f.Symbol, f.Offset,
		f.Text)
}

type target struct {
	ids   []id     // the places in .BTF_ids that get the id, sorted by offset
	found []uint32 // ids of the types of that kind and name, in ascending order, at most maxFound
	more  int      // number of such types that are not in found
}

type key struct {
	kind btf.Kind
	name string
}

// maxFound is how many types of the same name a warning lists.
const maxFound = 4

// Resolve looks up the types in b and its bases, and returns the content of the section with their
// ids. It also returns warnings, sorted by offset, for names that have no type or several types:
// the kernel might use no type or a wrong one. For such a name, resolve_btfids prints WARN and
// continues. Resolve may be called again with other BTF. It returns an error if Restore must be
// called first.
// Rule: .BTF_ids: filling in ids, counts, sorted sets. Source: resolve_btfids id_patch, sets_patch.
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

// find looks up all names in b and its bases, starting at the deepest base.
// Rule: .BTF_ids: which of several types a name means. Source: resolve_btfids symbols_resolve.
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

// finish writes the count of a set and sorts it. Entries with the same id keep their order.
func (s *Section) finish(x *set) {
	s.put(x.at, x.n)
	entries := slices.Collect(slices.Chunk(bytes.Clone(s.data[x.first():x.end()]), int(x.entry)))
	slices.SortStableFunc(entries, func(a, b []byte) int {
		return cmp.Compare(int32(s.order.Uint32(a)), int32(s.order.Uint32(b)))
	})
	copy(s.data[x.first():], slices.Concat(entries...))
}

// Rule: .BTF_ids: warnings about names. Source: resolve_btfids id_patch, symbols_resolve.
func warnings(targets []target) []Finding {
	var list []Finding
	for i := range targets {
		t := &targets[i]
		x := &t.ids[0]
		var text string
		switch {
		case len(t.found) == 0:
			text = fmt.Sprintf("the BTF has no %v %q; its id is 0", x.kind, x.name)
			if n := len(t.ids); n > 1 {
				text += fmt.Sprintf(" in %d places", n)
			}
		case len(t.found) > 1:
			var ids strings.Builder
			for _, id := range t.found[1:] {
				fmt.Fprintf(&ids, ", %d", id)
			}
			if t.more > 0 {
				fmt.Fprintf(&ids, " and %d more", t.more)
			}
			text = fmt.Sprintf("the BTF has several %v types named %q (ids %d%s); the first is used",
				x.kind, x.name, t.found[0], ids.String())
		default:
			continue
		}
		list = append(list, Finding{x.symbol, x.at, text})
	}
	slices.SortFunc(list, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	return list
}
