package random

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// owner is a function of the linked file with code and a symbol of its name, or of a clone's.
type owner struct {
	*die
	symbol string
}

// functions are those of the program with code, and all that the DWARF has, by their names.
func (v *view) functions() (coded, all map[string][]owner, err error) {
	symbols, err := v.symbols(elf.STT_FUNC)
	if err != nil {
		return nil, nil, err
	}
	at := map[uint64][]string{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			at[s.Value] = append(at[s.Value], s.Name)
		}
	}
	coded, all = map[string][]owner{}, map[string][]owner{}
	for _, unit := range v.info.units {
		unit.walk(func(d *die) {
			name := v.info.nameOf(d)
			if d.Tag != dwarf.TagSubprogram || name == "" {
				return
			}
			all[name] = append(all[name], owner{d, ""})
			entry, ok := v.info.entry(d)
			const dropped = 1 // what linkers write for the addresses of code that they have dropped
			if !ok || entry <= dropped {
				return
			}
			for _, symbol := range at[entry] {
				base, suffix, _ := strings.Cut(symbol, ".")
				if base == name && !strings.Contains(suffix, "part") && !strings.Contains(suffix, "cold") {
					coded[name] = append(coded[name], owner{d, symbol})
				}
			}
		})
	}
	return coded, all, nil
}

// hasCode says whether one of the functions is in the unit. Of another one the linker may have
// dropped all.
func hasCode(unit *die, functions map[string][]owner) (has bool) {
	unit.walk(func(d *die) {
		has = has || slices.ContainsFunc(functions[d.name()], func(o owner) bool { return o.die == d })
	})
	return has
}

// checkFunctions: each function with code and a symbol of its name is in the result, or listed as
// left out, once. What is in the result has the prototype and the tags of such a function.
func checkFunctions(b *Build) error {
	v, err := b.view()
	if err != nil {
		return err
	}
	coded, all, err := v.functions()
	if err != nil {
		return err
	}
	lines, err := b.read("elf.skipped")
	if err != nil {
		return err
	}
	count := map[string]int{}
	for line := range strings.Lines(string(lines)) {
		name, _, _ := strings.Cut(line, "\t")
		count[name]++
	}
	var wrong []string
	for _, t := range v.types {
		f, ok := t.(*btf.Func)
		if !ok {
			continue
		}
		count[f.Name]++
		candidates := coded[f.Name]
		if candidates == nil { // its code was folded into another's
			candidates = all[f.Name]
		}
		if reason := v.function(f, candidates); reason != "" {
			wrong = append(wrong, fmt.Sprintf("function %s: %s", f.Name, reason))
		}
	}
	for name, owners := range coded {
		if count[name] != 1 {
			wrong = append(wrong, fmt.Sprintf("function %s (symbol %s) is in the result or listed as left "+
				"out %d times", name, owners[0].symbol, count[name]))
		}
	}
	slices.Sort(wrong)
	return list(wrong)
}

// function says in what a function differs from all those of the DWARF of its name; "" if it
// doesn't.
func (v *view) function(f *btf.Func, all []owner) string {
	reason := "there is none"
	for _, of := range all {
		// An inlined copy has its parameters out of line.
		err := v.match(of.die, f.Type)
		if err == nil {
			err = v.functionTags(of.die, f)
		}
		if err == nil {
			return ""
		}
		reason = err.Error()
	}
	return reason
}
