package random

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// checkVariables checks that each per-CPU variable is in the result, with the type that the DWARF
// has for the variable's address, or in the list of skipped variables.
func checkVariables(b *Build) error {
	return b.view().variables(func(section string) bool { return section == perCPUSection })
}

// checkGlobals calls elfEqualsLink with the feature global_var, and then checks all variables.
func checkGlobals(b *Build) error {
	globals := b.elfEqualsLink("linked", "default,global_var")
	if b.Options.TypeUnits() {
		return nil
	}
	v := b.view()
	v.types = result{globals, b.read(globals)}.types()
	v.skipped = harness.Get(compare.LoadSkips(b.path(globals + ".skipped")))
	return v.variables(func(section string) bool { return true })
}

func (v *view) variables(wanted func(section string) bool) error {
	at := map[uint64][]*die{}
	for _, unit := range v.info.units {
		unit.walk(func(d *die) {
			if a, ok := v.info.address(d); ok && d.Tag == dwarf.TagVariable {
				at[a] = append(at[a], d)
			}
		})
	}
	var wrong []string
	found := map[uint64]bool{}
	for _, t := range v.types {
		sec, ok := t.(*btf.Datasec)
		if !ok || !wanted(sec.Name) {
			continue
		}
		section := v.elf.Section(sec.Name)
		if section == nil {
			return fmt.Errorf("there is no section %s", sec.Name)
		}
		for _, entry := range sec.Vars {
			a := section.Addr + uint64(entry.Offset)
			found[a] = true
			if reason := v.variable(entry.Type.(*btf.Var), at[a]); reason != "" {
				wrong = append(wrong, fmt.Sprintf("variable %s at %#x (%s+%#x): %s", entry.Type.TypeName(), a,
					sec.Name, entry.Offset, reason))
			}
		}
	}
	for _, s := range v.symbols(elf.STT_OBJECT) {
		if int(s.Section) >= len(v.elf.Sections) || !wanted(v.elf.Sections[s.Section].Name) ||
			found[s.Value] {
			continue
		}
		for _, d := range at[s.Value] {
			name := v.info.nameOf(d)
			if base, _, _ := strings.Cut(s.Name, "."); base == name && v.skipped[name] == "" &&
				v.skipped[s.Name] == "" {
				wrong = append(wrong,
					fmt.Sprintf("variable %s at %#x (symbol %s) is neither in the result nor skipped",
						name, s.Value, s.Name))
			}
		}
	}
	return list(wrong)
}

// variable returns how t differs from the variables that the DWARF has at t's address (the list
// at). It returns "" if t equals one of these variables.
func (v *view) variable(t *btf.Var, at []*die) string {
	reason := "the DWARF has no variable there"
	if slices.ContainsFunc(at, func(d *die) bool {
		err := errors.Join(v.match(v.info.typeOf(d), t.Type), v.tagged(d, t.Tags))
		if err != nil {
			reason = err.Error()
		} else if v.info.nameOf(d) != t.Name {
			reason = "it is called " + v.info.nameOf(d)
			return false
		}
		return err == nil
	}) {
		return ""
	}
	return reason
}
