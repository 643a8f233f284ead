package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Named finds the types with the names, in b and its bases, and returns their ids in ascending
// order. A name is that of types of all kinds, or, after struct, union, enum or typedef as in C, of
// one kind; declarations count as what they declare. The error for a name that no type has suggests
// names that are near.
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
	for i := range all {
		if w := &all[i]; !w.found {
			return nil, fmt.Errorf("no %s has the name %q%s", cmp.Or(w.keyword, "type"), w.name,
				w.instead(b))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// wanted is a name that is looked for.
type wanted struct {
	keyword string // of the kind; "" for all kinds
	name    string
	found   bool
	others  []string // the kinds of other types with the name, as keyword gives them
}

// want reads a name as C has it, such as "struct sock" or "sock".
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

// instead is what the error for a name adds on what there is.
func (w *wanted) instead(b *btf.Blob) string {
	if len(w.others) > 0 {
		slices.Sort(w.others)
		return "; what has it is of the kind " + strings.Join(w.others, ", ")
	}
	return suggest(b, w.name)
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
