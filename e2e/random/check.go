package random

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// Check checks one promise of the tools.
type Check struct {
	Name string
	run  func(*Build) error
	// applies reports whether the check can be used for a program; if applies is nil, the check can
	// be used for all programs.
	applies func(*Program, Options) bool
	needs   string // a program that the check runs and that may be missing; "" for none
}

// Checks lists all checks.
var Checks = []Check{
	{Name: "graph", run: checkGraph},
	{Name: "features", run: checkFeatures},
	{Name: "jobs", run: checkJobs},
	{Name: "merge", run: checkMerge},
	{Name: "order", run: checkOrder, applies: noWeak},
	{Name: "relink", run: checkRelink},
	{Name: "linked", run: checkLinked},
	{Name: "edits", run: checkEdits},
	{Name: "relocatable", run: checkRelocatable},
	{Name: "strings", run: checkStrings, applies: linkedByLD},
	{Name: "dwz", run: checkDWZ, needs: "dwz"},
	{Name: "dwz-m", run: checkSupplement, needs: "dwz"},
	{Name: "splitdwarf", run: checkSplitDWARF, applies: splits, needs: "llvm-dwp"},
	{Name: "typeunits", run: checkTypeUnits, applies: typeUnits},
	{Name: "reduced", run: checkReduced, applies: reduces},
	{Name: "unencodable", run: checkUnencodable, applies: keepsGenerated, needs: "g++"},
	{Name: "untyped", run: checkUntyped, applies: onlyC},
	{Name: "twins", run: checkTwins},
	{Name: "definitions", run: checkDefinitions, applies: noTypeUnits},
	{Name: "tags", run: checkTags, applies: noTypeUnits},
	{Name: "variables", run: checkVariables, applies: noTypeUnits},
	{Name: "globals", run: checkGlobals},
	{Name: "functions", run: checkFunctions, applies: noTypeUnits},
	{Name: "pahole", run: checkPahole, applies: paholeReads, needs: "pahole"},
	{Name: "split", run: checkSplit, applies: keepsAll},
	{Name: "compilerbtf", run: checkCompilerBTF, applies: gccWritesBTF},
}

// Run returns an error that describes how the promise is broken, or nil if it is kept.
func (c Check) Run(b *Build) error { return harness.Caught(func() error { return c.run(b) }) }

// Applies reports whether the check can be used for a program, and can run here.
func (c Check) Applies(p *Program, o Options) bool {
	return (c.applies == nil || c.applies(p, o)) && (c.needs == "" || harness.Has(c.needs))
}

// noWeak excludes programs with weak functions, of which the C linker keeps the first one.
func noWeak(p *Program, _ Options) bool { return !p.contains("__attribute__((weak))") }

// keepsAll excludes programs from which the linker drops code. The kernel in checkSplit may lack
// the entry function, and then the linker would drop all its code. Units that the linker drops
// aren't converted, so there are no errors and warnings about them.
func keepsAll(_ *Program, o Options) bool { return !o.Collect }

// keepsGenerated is like keepsAll, but also excludes the fixed sources in TestKnown. Each of them
// is a single text, and would show nothing new about units that BTF can't express.
func keepsGenerated(p *Program, o Options) bool {
	return keepsAll(p, o) && !slices.ContainsFunc(p.Files(), func(u *Unit) bool {
		return len(u.root.kids) == 0
	})
}

// onlyC is like keepsGenerated, but requires C sources.
func onlyC(p *Program, o Options) bool {
	return keepsGenerated(p, o) && !slices.ContainsFunc(p.Files(), func(u *Unit) bool {
		return !strings.HasSuffix(u.Path, ".c")
	})
}

// reduces reports whether gcc can reduce the debugging information.
func reduces(p *Program, o Options) bool {
	return onlyC(p, o) && slices.Equal(o.Compilers, []string{"gcc"}) && !o.TypeUnits()
}

// typeUnits requires type units. It excludes C++, because g++ leaves typedefs in blocks out of type
// units.
func typeUnits(p *Program, o Options) bool { return o.TypeUnits() && !p.CXX() }

// noTypeUnits excludes type units, because debug/dwarf doesn't read type units in DWARF 5.
func noTypeUnits(_ *Program, o Options) bool { return !o.TypeUnits() }

// linkedByLD excludes other linkers, such as lld, which has no --unique.
func linkedByLD(_ *Program, o Options) bool { return o.Linker == "ld" }

// paholeReads excludes type units, and C++, for which pahole has different rules.
func paholeReads(p *Program, o Options) bool { return !o.TypeUnits() && !p.CXX() }
