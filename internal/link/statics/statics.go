// Package statics tells static variables of one name apart whose source files have one base name
// too, such as d1/core.c and d2/core.c. The symbol table knows files by their base names only, and
// the objects of the graph have neither paths nor addresses. But the linked file's DWARF has the
// address of each variable, in the unit that defines it. A hash of that unit's types and of the
// variable, which the unit's object file gives as well, goes into the facts.
//
// BTF that a compiler wrote has no addresses, but its units are in the order of the symbol table's
// STT_FILEs, and each variable's symbol follows one.
//
// Few files have such variables. All others are not read.
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

// Identify fills in Object.Definition for the variables of f's facts that share their name with
// others. set are the features that the facts were made with, and the objects too.
//
// Those that the debugging information doesn't have stay as they are. So do all if there are type
// units: then an object file's unit has types that the linked file's has not. split finds the units
// that skeleton units stand for; nil: where they usually are.
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
	opt := convert.Options{Features: set, Jobs: 1, SkipUnencodable: true, Split: split}
	if err := identify(f, known, opt, units, convert.File); err != nil {
		return err
	}
	if names = unidentified(known, names); len(names) == 0 || !compilerbtf.Has(f) {
		return nil
	}
	// An error says that no compiler wrote the BTF, or that it is damaged. Facts can do without it;
	// where it is converted the error is reported.
	if units, err = blobs(f, known, names); err == nil {
		_ = identify(f, known, opt, units, compilerbtf.File)
	}
	return nil
}

// unidentified are those of the variables of which no definition is known.
func unidentified(known *facts.Facts, names map[name][]int) map[name][]int {
	left := map[name][]int{}
	for n, list := range names {
		for _, v := range list {
			if known.Objects[v].Definition == (types.Hash{}) {
				left[n] = append(left[n], v)
			}
		}
	}
	return left
}

// identify converts the units by a function such as convert.File, and fills in the definitions.
func identify(f *elf.File, known *facts.Facts, opt convert.Options, units []unit,
	file func(*elf.File, convert.Options) (*object.Object, error)) error {
	if len(units) == 0 {
		return nil
	}
	found := make(map[int]types.Hash) // by variable; zero: there are several
	for _, u := range units {
		opt.Units = append(opt.Units, u.number)
	}
	opt.Each = func(i int, o *object.Object) error {
		for _, v := range units[i].variables {
			h := definition(o, known.SourceName(known.Objects[v].Name))
			switch before, ok := found[v]; {
			case h == (types.Hash{}): // something else at its address
			case ok && before != h:
				found[v] = types.Hash{}
			default:
				found[v] = h
			}
		}
		return nil
	}
	if _, err := file(f, opt); err != nil {
		return err
	}
	for v, h := range found {
		known.Objects[v].Definition = h
	}
	return nil
}

// definition returns the hash that identifies the static variable of that name in an object of one
// unit, zero if it is not there or there are several.
func definition(o *object.Object, name string) (h types.Hash) {
	g, u := o.Graph, &o.Units[0]
	str, ok := g.Strs.Lookup([]byte(name))
	if !ok {
		return h
	}
	for _, id := range u.Items {
		n := g.Node(id)
		if n.Kind != types.KindVar || n.Name != str || n.Aux != types.LinkageStatic {
			continue
		}
		if h != (types.Hash{}) {
			return types.Hash{}
		}
		h = object.VariableHash(g, *n, u.TypesHash(g))
	}
	return h
}

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
