package random

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// code is the functions of a linked file.
type code struct {
	declared map[string][]*die // all that the DWARF has, by their names
	linked   map[string][]*die // those whose entry has a symbol of their name, or of a clone's
	units    map[*die]bool     // those with a linked function
}

func (v *view) code() *code {
	at := map[uint64][]string{}
	for _, s := range v.symbols(elf.STT_FUNC) {
		if s.Section != elf.SHN_UNDEF {
			at[s.Value] = append(at[s.Value], s.Name)
		}
	}
	c := &code{map[string][]*die{}, map[string][]*die{}, map[*die]bool{}}
	for _, unit := range v.info.units {
		unit.walk(func(d *die) {
			name := v.info.nameOf(d)
			if d.Tag != dwarf.TagSubprogram || name == "" {
				return
			}
			c.declared[name] = append(c.declared[name], d)
			const dropped = 1 // up to that are what linkers write for addresses of code that they drop
			entry, ok := v.info.entry(d)
			if !ok || entry <= dropped {
				return
			}
			if slices.ContainsFunc(at[entry], func(symbol string) bool { return isOf(symbol, name) }) {
				c.linked[name] = append(c.linked[name], d)
				c.units[unit] = true
			}
		})
	}
	return c
}

// isOf says whether a symbol is that of a function or of a clone, not of a part that was split off.
func isOf(symbol, function string) bool {
	base, suffix, _ := strings.Cut(symbol, ".")
	return base == function && !strings.Contains(suffix, "part") && !strings.Contains(suffix, "cold")
}

// checkFunctions: each function with code and a symbol of its name is in the result, or listed as
// left out, once. What is in the result has the prototype and the tags of such a function.
func checkFunctions(b *Build) error {
	v := b.view()
	code := v.code()
	count := map[string]int{}
	for line := range strings.Lines(string(b.read("elf.skipped"))) {
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
		candidates := code.linked[f.Name]
		if candidates == nil { // its code was folded into another's
			candidates = code.declared[f.Name]
		}
		if reason := v.function(f, candidates); reason != "" {
			wrong = append(wrong, fmt.Sprintf("function %s: %s", f.Name, reason))
		}
	}
	for name := range code.linked {
		if count[name] != 1 {
			wrong = append(wrong, fmt.Sprintf("function %s is in the result or listed as left out %d times",
				name, count[name]))
		}
	}
	slices.Sort(wrong)
	return list(wrong)
}

// function says in what a function differs from all those of the DWARF of its name; "" if it
// doesn't.
func (v *view) function(f *btf.Func, all []*die) string {
	reason := "there is none"
	for _, d := range all {
		// An inlined copy has its parameters out of line.
		err := v.match(d, f.Type)
		if err == nil {
			err = v.functionTags(d, f)
		}
		if err == nil {
			return ""
		}
		reason = err.Error()
	}
	return reason
}
