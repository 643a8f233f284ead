package oracle

import (
	"debug/dwarf"
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// explainInstances gives a reason for functions that pahole leaves out because of entries of their name that are not
// the function that the symbol is: functions that are declared inline and have no code, and parts that were split off.
func explainInstances(tb testing.TB, r *compare.Result, elfPath string) {
	tb.Helper()
	var names []string
	for _, d := range r.Unexplained() {
		if d.Class == content.Func && d.Kind == compare.OnlyOurs {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	inlined, split, err := otherInstances(elfPath, names)
	if err != nil {
		tb.Fatal(err)
	}
	r.Explain(func(d *compare.Difference) string {
		switch {
		case d.Class != content.Func || d.Kind != compare.OnlyOurs:
			return ""
		case inlined[d.Name]:
			return "pahole compares it with a function of that name that is declared inline and has no code"
		case split[d.Name]:
			return "pahole takes a part that was split off for the function"
		}
		return ""
	})
}

// otherInstances finds which of the functions have an entry in the DWARF that is declared inline and has no code, and
// which have a symbol for a part that was split off.
func otherInstances(path string, functions []string) (inlined, split map[string]bool, err error) {
	const declaredInlined = 3 // DW_INL_declared_inlined
	inlined, split = map[string]bool{}, map[string]bool{}
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range symbols {
		if base, suffix, ok := strings.Cut(s.Name, "."); ok && strings.HasPrefix(suffix, "part") && slices.Contains(functions, base) {
			split[base] = true
		}
	}
	data, err := f.DWARF()
	if err != nil {
		return nil, nil, err
	}
	r := data.Reader()
	for {
		die, err := r.Next()
		if err != nil || die == nil {
			return inlined, split, err
		}
		if die.Tag != dwarf.TagSubprogram {
			continue
		}
		name, _ := die.Val(dwarf.AttrName).(string)
		if how, _ := die.Val(dwarf.AttrInline).(int64); how == declaredInlined && slices.Contains(functions, name) {
			inlined[name] = true
		}
	}
}
