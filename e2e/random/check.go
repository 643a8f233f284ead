package random

import "github.com/rules-btf/rules_btf/e2e/internal/harness"

// Check is one promise of the tools.
type Check struct {
	Name string
	// Run returns an error that tells how the promise is broken.
	Run func(*Build) error
	// applies says whether the check fits a program; nil: it fits all.
	applies func(*Program, Options) bool
	needs   string // a program
}

// Checks are all promises.
var Checks = []Check{
	{Name: "graph", Run: checkGraph},
	{Name: "features", Run: checkFeatures},
	{Name: "jobs", Run: checkJobs},
	{Name: "merge", Run: checkMerge},
	{Name: "order", Run: checkOrder, applies: noWeak},
	{Name: "relink", Run: checkRelink},
	{Name: "linked", Run: checkLinked},
	{Name: "edits", Run: checkEdits},
	{Name: "relocatable", Run: checkRelocatable},
	{Name: "strings", Run: checkStrings, applies: linkedByLD},
	{Name: "dwz", Run: checkDWZ, needs: "dwz"},
	{Name: "dwz-m", Run: checkSupplement, needs: "dwz"},
	{Name: "splitdwarf", Run: checkSplitDWARF, applies: splits, needs: "llvm-dwp"},
	{Name: "typeunits", Run: checkTypeUnits, applies: typeUnits},
	{Name: "verify", Run: checkVerify},
	{Name: "twins", Run: checkTwins},
	{Name: "definitions", Run: checkDefinitions, applies: noTypeUnits},
	{Name: "tags", Run: checkTags, applies: noTypeUnits},
	{Name: "variables", Run: checkVariables, applies: noTypeUnits},
	{Name: "globals", Run: checkGlobals},
	{Name: "functions", Run: checkFunctions, applies: noTypeUnits},
	{Name: "pahole", Run: checkPahole, applies: paholeReads, needs: "pahole"},
	{Name: "split", Run: checkSplit, applies: keepsAll},
	{Name: "compilerbtf", Run: checkCompilerBTF, applies: gccWritesBTF},
}

// Applies says whether the check fits a program and can be made here.
func (c Check) Applies(p *Program, o Options) bool {
	return (c.applies == nil || c.applies(p, o)) && (c.needs == "" || harness.Has(c.needs))
}

// noWeak: which of several weak functions is kept is up to the order of the link.
func noWeak(p *Program, _ Options) bool { return !p.contains("__attribute__((weak))") }

// keepsAll: the linker may drop a kernel without an entry.
func keepsAll(_ *Program, o Options) bool { return !o.Collect }

// typeUnits: g++ leaves the typedefs of blocks out of type units.
func typeUnits(p *Program, o Options) bool { return o.TypeUnits() && !p.CXX() }

// noTypeUnits: debug/dwarf doesn't read the type units of DWARF 5.
func noTypeUnits(_ *Program, o Options) bool { return !o.TypeUnits() }

// linkedByLD: lld has no --unique.
func linkedByLD(_ *Program, o Options) bool { return o.Linker == "ld" }

// paholeReads: pahole has other rules for C++.
func paholeReads(p *Program, o Options) bool { return !o.TypeUnits() && !p.CXX() }
