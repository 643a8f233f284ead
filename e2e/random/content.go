package random

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// view has the DWARF of the program and the BTF that was made from this DWARF.
type view struct {
	*matcher
	elf     *elf.File // closed; only the headers can be used
	path    string
	types   []btf.Type
	skipped compare.Skips
}

func (b *Build) view() *view {
	v := &view{types: b.types(), path: b.path("linked"),
		skipped: harness.Get(compare.LoadSkips(b.path("elf.skipped")))}
	info, f, err := readDWARF(v.path)
	if err != nil {
		harness.Check(fmt.Errorf("debug/dwarf: %w", err))
	}
	v.elf, v.matcher = f, &matcher{info: info, matched: map[pair]bool{}}
	return v
}

func (v *view) symbols(kind elf.SymType) []elf.Symbol {
	f := harness.Get(elf.Open(v.path))
	defer f.Close()
	return slices.DeleteFunc(harness.Get(f.Symbols()), func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != kind
	})
}

// definitionTags maps the DWARF tags of type definitions to the kinds of these types.
var definitionTags = map[dwarf.Tag]string{
	dwarf.TagStructType: "struct", dwarf.TagUnionType: "union", dwarf.TagEnumerationType: "enum",
	dwarf.TagTypedef: "typedef",
}

// definitionKind returns the kind of a type, as in definitionTags, or "" for all other types.
func definitionKind(t btf.Type) string {
	switch t.(type) {
	case *btf.Struct:
		return "struct"
	case *btf.Union:
		return "union"
	case *btf.Enum:
		return "enum"
	case *btf.Typedef:
		return "typedef"
	}
	return ""
}

// checkDefinitions checks that the result has each named definition in the DWARF, from any scope,
// with all types to which the definition leads, and that the result has no other definitions.
func checkDefinitions(b *Build) error {
	v := b.view()
	types := map[string][]btf.Type{}
	for _, t := range v.types {
		if kind := definitionKind(t); kind != "" && t.TypeName() != "" {
			types[kind+" "+t.TypeName()] = append(types[kind+" "+t.TypeName()], t)
		}
	}
	dies := map[string][]*die{}
	explained := map[btf.Type]bool{}
	var wrong []string
	code := v.code()
	for _, unit := range v.info.units {
		dropped := b.Options.Collect && !code.units[unit]
		unit.walk(func(d *die) {
			kind := definitionTags[d.Tag]
			if kind == "" || d.name() == "" || d.declaration() {
				return
			}
			key := kind + " " + d.name()
			dies[key] = append(dies[key], d)
			if dropped {
				return
			}
			var reasons []string
			for _, t := range types[key] {
				err := v.match(d, t)
				if err == nil {
					explained[t] = true
					return
				}
				reasons = append(reasons, "  not "+content.Text(t)+":\n    "+err.Error())
			}
			wrong = append(wrong, fmt.Sprintf("%s at %#x of unit %s is not in the result\n%s", key, d.Offset,
				unit.name(), strings.Join(reasons, "\n")))
		})
	}
	for _, t := range v.types {
		key := definitionKind(t) + " " + t.TypeName()
		if explained[t] || len(types[key]) == 0 || t.TypeName() == "" {
			continue
		}
		if !slices.ContainsFunc(dies[key], func(d *die) bool { return v.match(d, t) == nil }) {
			wrong = append(wrong, "only in the BTF: no unit has "+content.Text(t))
		}
	}
	return list(wrong)
}

// list returns an error that consists of the given lines, or nil if there are no lines.
func list(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	const most = 8
	more := ""
	if len(wrong) > most {
		more = fmt.Sprintf("\nand %d more", len(wrong)-most)
		wrong = wrong[:most]
	}
	return fmt.Errorf("%s%s", strings.Join(wrong, "\n"), more)
}
