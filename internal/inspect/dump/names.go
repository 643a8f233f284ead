package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Named returns the ids of the types with the given names, in b and its bases, in ascending order.
// "sock" finds types of all kinds; "struct sock" those of one kind, and so do union, enum and
// typedef. A declaration counts as what it declares. If no type has a name, the error suggests
// similar names.
func Named(b *btf.Blob, names []string) ([]uint32, error) {
	all := make([]wanted, len(names))
	byName := map[string][]*wanted{}
	for i, n := range names {
		all[i] = want(n)
		byName[all[i].name] = append(byName[all[i].name], &all[i])
	}
	delete(byName, "") // anonymous types
	var ids []uint32
	for id, t := range b.All() {
		for _, w := range byName[b.TypeName(t)] {
			if is := keyword(t); w.keyword == "" || w.keyword == is {
				w.found = true
				ids = append(ids, id)
			} else if !slices.Contains(w.others, is) {
				w.others = append(w.others, is)
			}
		}
	}
	for _, w := range all {
		if !w.found {
			return nil, fmt.Errorf("no %s has the name %q%s", cmp.Or(w.keyword, "type"), w.name,
				w.instead(b))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

type wanted struct {
	keyword string // of the kind; "" for all kinds
	name    string
	found   bool
	others  []string // the kinds of other types with the name, as keyword gives them
}

// want parses a name such as "struct sock" or "sock".
func want(typed string) wanted {
	words := strings.Fields(typed)
	if len(words) > 1 && slices.Contains([]string{"struct", "union", "enum", "typedef"}, words[0]) {
		return wanted{keyword: words[0], name: strings.Join(words[1:], " ")}
	}
	return wanted{name: strings.TrimSpace(typed)}
}

// keyword is C's word for the kind of a type, or the kind's name in lower case.
func keyword(t *btf.Type) string {
	switch {
	case t.Kind == btf.KindEnum64:
		return "enum"
	case t.Kind == btf.KindFwd && t.KFlag:
		return "union"
	case t.Kind == btf.KindFwd:
		return "struct"
	}
	return strings.ToLower(t.Kind.String())
}

// instead returns the end of the error for a name that was not found: what b has instead.
func (w *wanted) instead(b *btf.Blob) string {
	if len(w.others) > 0 {
		slices.Sort(w.others)
		return "; types of this name have the kind " + strings.Join(w.others, ", ")
	}
	return suggest(b, w.name)
}

// suggest returns a question that lists the most similar names, or "" if none is similar.
func suggest(b *btf.Blob, typed string) string {
	limit := min(len(typed)/3, 3)
	type near struct {
		edits int
		name  string
	}
	var all []near
	seen := map[string]bool{}
	for _, t := range b.All() {
		name := b.TypeName(t)
		if name == "" || seen[name] || len(name) < len(typed)-limit || len(name) > len(typed)+limit {
			continue
		}
		seen[name] = true
		if n := edits(typed, name, limit); n <= limit {
			all = append(all, near{n, name})
		}
	}
	slices.SortFunc(all, func(x, y near) int {
		return cmp.Or(cmp.Compare(x.edits, y.edits), strings.Compare(x.name, y.name))
	})
	if len(all) == 0 {
		return ""
	}
	var text []string
	for _, n := range all[:min(3, len(all))] {
		text = append(text, n.name)
	}
	return "; did you mean " + strings.Join(text, ", ") + "?"
}

// edits returns how many bytes to insert, delete or replace to turn a into b; any number above
// limit if there are more.
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
			if a[i] != b[j] {
				diagonal++
			}
			n = min(n, diagonal)
			diagonal, row[j+1] = row[j+1], n
			least = min(least, n)
		}
		if least > limit {
			return least
		}
	}
	return row[len(b)]
}
