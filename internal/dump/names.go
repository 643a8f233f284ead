package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// Named finds the types with the names, of all kinds, in b and its bases, and returns their ids in
// ascending order. The error for a name that no type has suggests names that are near.
func Named(b *btf.Blob, names []string) ([]uint32, error) {
	found := map[string]bool{}
	for _, n := range names {
		found[n] = false
	}
	var ids []uint32
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			name := b.TypeName(&o.Types[i])
			if _, wanted := found[name]; wanted && name != "" {
				found[name] = true
				ids = append(ids, o.StartID+uint32(i))
			}
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fmt.Errorf("no type has the name %q%s", n, suggest(b, n))
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// suggest is what an error adds on names that a user may have meant: the nearest by edits, and then
// by the alphabet.
func suggest(b *btf.Blob, typed string) string {
	const many = 3
	limit := min(len(typed)/3, 3)
	type near struct {
		edits int
		name  string
	}
	var all []near
	seen := map[string]bool{}
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			name := b.TypeName(&o.Types[i])
			if name == "" || seen[name] || len(name) < len(typed)-limit || len(name) > len(typed)+limit {
				continue
			}
			seen[name] = true
			if n := edits(typed, name, limit); n <= limit {
				all = append(all, near{n, name})
			}
		}
	}
	slices.SortFunc(all, func(x, y near) int {
		return cmp.Or(cmp.Compare(x.edits, y.edits), strings.Compare(x.name, y.name))
	})
	var text []string
	for _, n := range all[:min(many, len(all))] {
		text = append(text, n.name)
	}
	if text == nil {
		return ""
	}
	return "; did you mean " + strings.Join(text, ", ") + "?"
}

// edits is the number of bytes to insert, delete or replace to make b of a, or any number above
// limit if they are more.
func edits(a, b string, limit int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			n := min(row[j], row[j+1]) + 1
			if a[i] == b[j] {
				n = min(n, diagonal)
			} else {
				n = min(n, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], n
			least = min(least, n)
		}
		if least > limit {
			return least
		}
	}
	return row[len(b)]
}
