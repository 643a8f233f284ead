package inline

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// TestTargets compares the sites in programs for other machines, linked and not linked.
func TestTargets(t *testing.T) {
	harness.Need(t, "clang", "ld.lld")
	for i, target := range []string{"aarch64", "s390x", "riscv64", "powerpc64le", "i386", "armv7",
		"powerpc64"} {
		t.Run(target, func(t *testing.T) {
			m := newMaker(t, t.TempDir())
			for seed := *first; seed < *first+*targetPrograms; seed++ {
				source := filepath.Join(m.dir, fmt.Sprintf("%d.c", seed))
				harness.WriteFile(t, source, Program(seed*10+uint64(i)))
				object, program := source+".o", source+".program"
				harness.MustRun(t, m.dir, "clang", "--target="+target+"-linux-gnu",
					"-O2", "-c", "-w", "-fwrapv", "-fno-strict-aliasing",
					fmt.Sprintf("-gdwarf-%d", 4+seed%2), "-o", object, source)
				// Functions of a library may be undefined: they never run.
				harness.MustRun(t, m.dir, "ld.lld", "--unresolved-symbols=ignore-all", "-e", "main",
					"-o", program, object)
				for _, file := range []string{object, program} {
					m.compare(file, m.btf("program", file))
				}
			}
		})
	}
}

// TestForms compares the sites of programs whose DWARF has another form with those of the usual
// form, which has the same code.
func TestForms(t *testing.T) {
	harness.Need(t, "gcc", "clang", "dwz")
	for seed := *first; seed < *first+*targetPrograms; seed++ {
		for _, compiler := range []string{"gcc", "clang"} {
			t.Run(fmt.Sprintf("%s-%d", compiler, seed), func(t *testing.T) {
				m := newMaker(t, t.TempDir())
				harness.WriteFile(t, filepath.Join(m.dir, "p.c"), Program(seed))
				argv := []string{compiler, "-no-pie", "-w", "-fwrapv", "-fno-strict-aliasing",
					"-O2", fmt.Sprintf("-gdwarf-%d", 4+seed%2), "p.c", "-o"}
				argv = slices.Clip(argv)
				plain := filepath.Join(m.dir, "plain")
				harness.MustRun(t, m.dir, append(argv, plain)...)
				truth := m.compare(plain, m.btf("plain", plain))
				forms := map[string][][]string{
					"split": {append(argv, "split", "-gsplit-dwarf")},
					"types": {append(argv, "types", "-fdebug-types-section")},
					"zlib":  {append(argv, "zlib", "-gz")},
				}
				if compiler == "gcc" { // dwz doesn't know .debug_addr
					forms["dwz"] = [][]string{append(argv, "dwz"), {"dwz", "dwz"}}
				}
				for form, more := range forms {
					for _, command := range more {
						harness.MustRun(t, m.dir, command...)
					}
					file := filepath.Join(m.dir, form)
					truth, have := truth, m.inline(file, m.btf(form, file))
					if form == "split" { // in which clang can't refer to the type of DW_OP_convert
						truth, have = withoutConversions(truth, have)
					}
					for _, d := range Differences(truth, have) {
						t.Errorf("%s: %s", form, d)
					}
				}
			})
		}
	}
}

// withoutConversions returns the sites, except those that have an expression with DW_OP_convert
// according to the truth.
func withoutConversions(truth, have []*Site) (t, h []*Site) {
	type key struct {
		section, function string
		offset            uint64
	}
	drop := map[key]bool{}
	for _, s := range truth {
		for _, p := range s.Params {
			if p.Cause == "operation 0xa8" {
				drop[key{s.Section, s.Function, s.Offset}] = true
			}
		}
	}
	dropped := func(s *Site) bool { return drop[key{s.Section, s.Function, s.Offset}] }
	return slices.DeleteFunc(slices.Clone(truth), dropped), slices.DeleteFunc(have, dropped)
}
