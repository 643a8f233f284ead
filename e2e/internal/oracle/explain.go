package oracle

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// explainByDWARF explains differences in functions from the DWARF and the symbols in the ELF file.
func explainByDWARF(r *compare.Result, elfPath string) {
	var names []string
	for _, d := range r.Unexplained(content.Func) {
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return
	}
	found := readSubprograms(elfPath, names)
	r.Explain(func(d *compare.Difference) string {
		if d.Class != content.Func {
			return ""
		}
		kept := found.kept[d.Name]
		switch d.Kind {
		case compare.Differs:
			switch {
			case kept == nil:
				return "the compiler made the function a jump to an equal function, so no definition " +
					"has code; pahole takes a different definition"
			case byOther(d, kept, found.others[d.Name]):
				return "pahole takes the parameters from an overridden weak definition, or from a " +
					"definition that was inlined everywhere"
			case byOther(d, kept, kept):
				return "several static functions with that name have different parameter names; " +
					"pahole takes a different function than we do"
			}
		case compare.OnlyOurs:
			switch {
			case found.inlined[d.Name]:
				return "pahole also considers a function with that name that is inline and has no code"
			case found.renamed[d.Name]:
				return "pahole also considers a function with that name whose symbol is named differently"
			case found.varying[d.Name]:
				return "the DIE of the function's code has \"...\", but clang's abstract instance, which " +
					"pahole also considers, doesn't"
			case kept != nil && found.lost[d.Name]:
				return "pahole also considers an overridden weak definition"
			case found.split[d.Name]:
				return "pahole mistakes a split-off part for the function"
			}
			return byABI(found.machine, found.arguments[d.Name])
		case compare.OnlyOracle:
			if found.inlined[d.Name] && kept == nil {
				return "no DIE has code for this inline function, so we consider it inlined everywhere"
			}
		}
		return ""
	})
}

// explainBase explains why our BTF of a module has definitions that with pahole are only in the
// base: libbpf drops functions that the base has, and pahole's base has types that ours lacks.
func explainBase(r *compare.Result, bases []string) {
	last := len(bases) - 1
	base := harness.Get(content.Load(bases[last], bases[:last]...))
	r.Explain(func(d *compare.Difference) string {
		if d.Class == content.Func && d.Kind == compare.OnlyOurs &&
			slices.Equal(d.Ours, base.Definitions[content.Func][d.Name]) {
			return "libbpf drops a module's function if the base has a function " +
				"with the same name and prototype"
		}
		switch d.Class {
		case content.Int, content.Float, content.Forward:
			if d.Kind == compare.OnlyOurs && slices.Equal(d.Ours, base.Definitions[d.Class][d.Name]) {
				return "pahole's base has this type, though nothing there refers to it"
			}
		}
		return ""
	})
}

// byOther reports whether we and the oracle encoded different definitions of a function. Our
// parameter names must be in kept, and the oracle's in others.
func byOther(d *compare.Difference, kept, others [][]string) bool {
	if len(d.Ours) != 1 || len(d.Oracle) != 1 {
		return false
	}
	ours := func(names []string) bool { return sameNames(d.Ours[0], names) }
	theirs := func(names []string) bool { return sameNames(d.Oracle[0], names) && !ours(names) }
	return slices.ContainsFunc(kept, ours) && slices.ContainsFunc(others, theirs)
}

func sameNames(text string, names []string) bool {
	_, text, ok := strings.Cut(text, "(")
	depth, start := 0, 0
	var have []string
	for i := 0; ok && i < len(text) && depth >= 0; i++ {
		switch c := text[i]; {
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth--
		}
		if end := depth < 0 || depth == 0 && text[i] == ','; end {
			if name, _, _ := strings.Cut(strings.TrimSpace(text[start:i]), " "); name != "" &&
				name != "..." {
				have = append(have, name)
			}
			start = i + 1
		}
	}
	return slices.Equal(have, names)
}
