package random

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

type code struct {
	declared map[string][]*die // all functions in the DWARF, by name
	linked   map[string][]*die // those with their own symbol, or a clone's symbol, at their entry
	units    map[*die]bool     // the units with a function in linked
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
			const dropped = 1 // linkers set the address of dropped code to 0 or 1
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

// isOf reports whether a symbol belongs to a function or to one of its clones. Parts that the
// compiler has split off don't count as clones.
func isOf(symbol, function string) bool {
	base, suffix, _ := strings.Cut(symbol, ".")
	return base == function && !strings.Contains(suffix, "part") && !strings.Contains(suffix, "cold")
}

// checkFunctions checks that each function that has code and a symbol occurs exactly once, either
// in the result or in the list of skipped functions. A function in the result must have the
// prototype and tags of one of the functions in the DWARF with the same name.
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
		if candidates == nil { // the function's code was merged with that of another function
			candidates = code.declared[f.Name]
		}
		if reason := v.function(f, candidates); reason != "" {
			wrong = append(wrong, fmt.Sprintf("function %s: %s", f.Name, reason))
		}
	}
	for name := range code.linked {
		if count[name] != 1 {
			wrong = append(wrong, fmt.Sprintf("function %s is in the result or skipped %d times, want 1",
				name, count[name]))
		}
	}
	slices.Sort(wrong)
	return list(wrong)
}

// function compares f with the given DIEs. It returns "" if f equals one of these functions;
// otherwise, it returns how f differs from the last one.
func (v *view) function(f *btf.Func, all []*die) string {
	reason := "the DWARF has no such function"
	for _, d := range all {
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
