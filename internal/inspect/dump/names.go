package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Named returns the ids of the types with the given names, in b and its bases, in ascending order.
// "sock" finds types of all kinds, but "struct sock" finds only structs; union, enum and typedef
// work in the same way. A forward declaration counts as the kind that it declares. If no type has
// one of the names, Named returns an error.
func Named(b *btf.Blob, names []string) ([]uint32, error) {
	all := make([]wanted, len(names))
	byName := map[string][]*wanted{}
	for i, n := range names {
		all[i].Name = ParseName(n)
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
		if w.found {
			continue
		}
		err := fmt.Errorf("no %s has the name %q", cmp.Or(w.keyword, "type"), w.name)
		if slices.Sort(w.others); len(w.others) > 0 {
			err = fmt.Errorf("%w; types of these kinds have that name: "+
				"%s", err, strings.Join(w.others, ", "))
		}
		return nil, err
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

type wanted struct {
	Name
	found  bool
	others []string // the keywords of other types with the name
}

// Name is the name of a type, such as "sock" or "struct sock".
type Name struct {
	keyword string // of the kind; "" for all kinds
	name    string
}

// ParseName parses a name as users type it.
func ParseName(typed string) Name {
	words := strings.Fields(typed)
	if len(words) > 1 && slices.Contains([]string{"struct", "union", "enum", "typedef"}, words[0]) {
		return Name{keyword: words[0], name: strings.Join(words[1:], " ")}
	}
	return Name{name: strings.TrimSpace(typed)}
}

// Is reports whether n means the type t, whose name is name. Anonymous types have no name.
func (n Name) Is(t *btf.Type, name string) bool {
	return name != "" && n.name == name && (n.keyword == "" || n.keyword == keyword(t))
}

// keyword returns C's keyword for a type, or the kind's name in lower case if C has no keyword.
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
