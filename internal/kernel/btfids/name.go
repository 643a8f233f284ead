package btfids

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Prefix begins the names of the symbols of the section.
const Prefix = "__BTF_ID__"

// Sizes in bytes of a set's entries. The header of a set is as long as an entry.
const (
	setEntry  = 4
	set8Entry = 8
)

// meaning is a parsed name of a symbol.
type meaning struct {
	kind  btf.Kind // of the type whose id belongs there; KindVoid for a set
	entry uint32   // bytes of a set's entry; 0 for an id
	name  string   // of the type, or of the set
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

// parseName parses a symbol's name, which begins with Prefix. The number at its end, which makes
// symbols of ids unique, begins after the last pair of underscores.
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
			cut := strings.LastIndex(name, "__")
			if cut < 0 || strings.Contains(name[cut+2:], "_") {
				return m, fmt.Errorf("no number ends its name; it is %s<kind>__<name>__<number>", Prefix)
			}
			m.name = name[:cut]
		}
		if m.name == "" {
			return m, fmt.Errorf("it names nothing")
		}
		return m, nil
	}
	return meaning{}, fmt.Errorf("its kind is not struct, union, typedef, func, set or set8")
}
