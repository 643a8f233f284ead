package btfids

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
)

// Prefix is the beginning of the names of all symbols in the section.
const Prefix = "__BTF_ID__"

// These are the sizes in bytes of an entry in a set or set8. The set's header has the same size.
const (
	setEntry  = 4
	set8Entry = 8
)

// meaning is the parsed name of a symbol.
type meaning struct {
	kind  btf.Kind // kind of the type whose id belongs there; KindVoid for a set
	entry uint32   // size of a set's entry in bytes; 0 for an id
	name  string   // name of the type or set
}

var kinds = []struct {
	word string
	meaning
}{
	{"struct__", meaning{kind: btf.KindStruct}},
	{"union__", meaning{kind: btf.KindUnion}},
	{"typedef__", meaning{kind: btf.KindTypedef}},
	{"func__", meaning{kind: btf.KindFunc}},
	{"set8__", meaning{entry: set8Entry}},
	{"set__", meaning{entry: setEntry}},
}

// parseName parses a symbol's name, which begins with Prefix. The name of an id ends with two
// underscores and a number that makes it unique.
// Rule: .BTF_ids: what a symbol means. Source: resolve_btfids symbols_collect, get_id, add_set.
func parseName(symbol string) (meaning, error) {
	rest := symbol[len(Prefix):]
	for _, k := range kinds {
		name, ok := strings.CutPrefix(rest, k.word)
		if !ok {
			continue
		}
		m := k.meaning
		m.name = name
		if m.entry == 0 {
			if m.name, ok = facts.IDName(name); !ok {
				return m, fmt.Errorf("its name has no number; expected %s<kind>__<name>__<number>", Prefix)
			}
		}
		if m.name == "" {
			return m, fmt.Errorf("its name names no type or set")
		}
		return m, nil
	}
	return meaning{}, fmt.Errorf("its kind is not struct, union, typedef, func, set or set8")
}
