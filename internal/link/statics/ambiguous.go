package statics

import (
	"maps"
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/facts"
)

// name is what a local symbol is known by: its name in the source, and the base name of its file.
type name struct{ file, symbol string }

// ambiguous are the local variables of the facts that share their name with another, by name. The
// numbers are those of Facts.Objects.
func ambiguous(known *facts.Facts) map[name][]int {
	list := make(map[name][]int)
	for i := range known.Objects {
		o := &known.Objects[i]
		if !o.Local {
			continue
		}
		s := known.SourceName(o.Name)
		if !strings.Contains(s, ".") && !facts.Generated(s) { // a dot: a variable of a function
			n := name{known.Files[o.File].Name, s}
			list[n] = append(list[n], i)
		}
	}
	maps.DeleteFunc(list, func(_ name, of []int) bool { return len(of) == 1 })
	return list
}
