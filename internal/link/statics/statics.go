// Package statics distinguishes static variables that have the same name and whose source files
// have the same base name, such as d1/core.c and d2/core.c. The symbol table has only the base
// names of files, and .btfo files have neither paths nor addresses. But in the linked file's DWARF,
// the unit that defines a variable has the variable's address. A hash of that unit's types and of
// the variable is stored in the facts. The same hash can be computed from the unit's object file.
//
// BTF that a compiler wrote has no addresses. But its units are in the order of the symbol table's
// STT_FILEs, and the symbol of each variable follows the STT_FILE of its unit.
//
// Few linked files have such variables. The debugging information of all other files is not read.
package statics

import (
	"maps"
	"strings"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Identify fills in Object.Definition for those variables in the facts whose names and files aren't
// unique. The parameter set has the features of the facts and the objects.
//
// Variables that aren't in the debugging information don't change. If there are type units, no
// variable changes, because a unit in an object file then has types that the same unit in the
// linked file lacks. The parameter split finds the split units of skeleton units; if it is nil,
// they are searched in the usual places.
// Rule: static variables with the same name: their identity in the facts.
func Identify(f *elf.File, known *facts.Facts, set features.Set, split *splitdwarf.Finder) error {
	names := ambiguous(known)
	if len(names) == 0 {
		return nil
	}
	d, err := dwarf.New(f)
	if err != nil || d.HasTypeUnits() {
		return err
	}
	files := split.Of(f, "")
	defer files.Close()
	units, err := definingUnits(d, files, known, names)
	if err != nil {
		return err
	}
	opt := convert.Options{Features: set.With(features.SkipUnencodable), Jobs: 1, SplitDWARF: split}
	if err := identify(f, known, opt, units, convert.EachUnit); err != nil {
		return err
	}
	if names = unidentified(known, names); len(names) == 0 || !compilerbtf.Has(f) {
		return nil
	}
	// An error means that the BTF wasn't written by a compiler or is damaged. Ignore it: the facts
	// can be made without the BTF, and the error is reported when the BTF is converted.
	if units, err = blobs(f, known, names); err == nil {
		_ = identify(f, known, opt, units, compilerbtf.EachUnit)
	}
	return nil
}

func unidentified(known *facts.Facts, names map[name][]int) map[name][]int {
	left := map[name][]int{}
	for n, list := range names {
		for _, v := range list {
			if known.Vars[v].Definition == (types.Hash{}) {
				left[n] = append(left[n], v)
			}
		}
	}
	return left
}

// identify converts the units by calling eachUnit, and finds the variables' definitions.
func identify(f *elf.File, known *facts.Facts, opt convert.Options, units []unit,
	eachUnit func(*elf.File, convert.Options, []int, func(int, *object.Object) error) error) error {
	if len(units) == 0 {
		return nil
	}
	found := make(map[int]types.Hash) // by variable; zero if several hashes were found
	var numbers []int
	for _, u := range units {
		numbers = append(numbers, u.number)
	}
	err := eachUnit(f, opt, numbers, func(i int, o *object.Object) error {
		for _, v := range units[i].variables {
			h := definition(o, known.SourceName(known.Vars[v].Name))
			switch before, ok := found[v]; {
			case h == (types.Hash{}): // something else is at its address
			case ok && before != h:
				found[v] = types.Hash{}
			default:
				found[v] = h
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for v, h := range found {
		known.Vars[v].Definition = h
	}
	return nil
}

// definition returns the hash that identifies the static variable with this name in o, which has
// one unit. It returns zero if the unit has no such variable, or several.
func definition(o *object.Object, name string) (h types.Hash) {
	g, u := o.Graph, &o.Units[0]
	str, ok := g.Strs.Lookup([]byte(name))
	if !ok {
		return h
	}
	for _, id := range u.Items {
		n := g.Node(id)
		if n.Kind != types.KindVar || n.Name != str || n.Linkage() != types.LinkageStatic {
			continue
		}
		if h != (types.Hash{}) {
			return types.Hash{}
		}
		h = object.VariableHash(g, *n, u.TypesHash(g))
	}
	return h
}

// name identifies a local symbol: its name in the source, and the base name of its file.
type name struct{ file, symbol string }

// ambiguous lists, by name, local variables with equal names, as indexes into Facts.Vars.
func ambiguous(known *facts.Facts) map[name][]int {
	list := make(map[name][]int)
	for i := range known.Vars {
		o := &known.Vars[i]
		if !o.Local {
			continue
		}
		s := known.SourceName(o.Name)
		if !strings.Contains(s, ".") && !facts.Generated(s) { // a dot: the variable is in a function
			n := name{known.Files[o.File].Name, s}
			list[n] = append(list[n], i)
		}
	}
	maps.DeleteFunc(list, func(_ name, of []int) bool { return len(of) == 1 })
	return list
}
