package oracle

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// explainByDWARF explains differences between functions by the DWARF and the symbols of the file.
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
				return "the compiler made it a jump to an equal function, so no definition has code; " +
					"pahole takes a different definition"
			case byOther(d, kept, found.others[d.Name]):
				return "pahole takes the parameters of an overridden weak definition, or of a definition " +
					"that was inlined everywhere"
			case byOther(d, kept, kept):
				return "several static functions have that name, with different parameter names; " +
					"pahole takes a different function than we do"
			}
		case compare.OnlyOurs:
			switch {
			case found.inlined[d.Name]:
				return "pahole compares it with a function of that name that is declared inline and has no code"
			case found.renamed[d.Name]:
				return "pahole compares it with a function of that name whose symbol has a different name"
			case found.varying[d.Name]:
				return "pahole compares its code, which takes \"...\", with clang's abstract instance, " +
					"which doesn't"
			case kept != nil && found.lost[d.Name]:
				return "pahole compares it with an overridden weak definition"
			case found.split[d.Name]:
				return "pahole takes a split-off part for the function"
			}
			return byABI(found.machine, found.arguments[d.Name])
		case compare.OnlyOracle:
			if found.inlined[d.Name] && kept == nil {
				return "declared inline, and no DIE has its code, so we take it for inlined everywhere"
			}
		}
		return ""
	})
}

// explainBase explains why our BTF of a module has definitions that pahole has only in the base:
// libbpf dropped functions as duplicates, or our base lacks the types.
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
				return "pahole's base has it, though nothing there refers to it"
			}
		}
		return ""
	})
}

// byOther reports whether the two sides encoded different definitions of a function: our parameter
// names are those of a definition in kept, and the oracle's are those of a definition in others.
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
