package random

import (
	"os"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// splits says whether the compilers can split the program's DWARF as the standard and its extension
// for version 4 have it.
func splits(p *Program, o Options) bool {
	assembly := slices.ContainsFunc(p.Files(), func(u *Unit) bool {
		return strings.HasSuffix(u.Path, ".s")
	})
	return !assembly && (o.has("-gdwarf-4") || o.has("-gdwarf-5"))
}

// checkSplitDWARF: units that the compilers write to .dwo files are the same units, as objects and
// linked, also where a package has them.
func checkSplitDWARF(b *Build) error {
	objects := b.compileAll(b.Options, "splitdwarf", "-gsplit-dwarf")
	var dwos []string
	for i, plain := range b.Objects() {
		split := objects[i]
		if err := sameBytes(result{plain, b.read(b.BTFObject(plain))},
			result{split, b.read(b.BTFObject(split))}); err != nil {
			return err
		}
		dwos = append(dwos, strings.TrimSuffix(split, ".o")+".dwo")
	}
	const linked = "splitdwarf/linked"
	b.link(linked, objects)
	// What nothing refers to is another unit's if types are in their own units.
	bytesToo := !b.Options.TypeUnits()
	harness.Check(b.compareBuilt("btfgen elf with .dwo files", linked, bytesToo))
	if b.Options.has("-gdwarf-5") && slices.Contains(b.Options.Compilers, "gcc") {
		return nil // llvm-dwp does not end
	}
	b.compiler(b.Dir, append([]string{"llvm-dwp", "-o", linked + ".dwp"}, dwos...)...)
	for _, dwo := range dwos {
		harness.Check(os.Remove(b.path(dwo)))
	}
	return b.compareBuilt("btfgen elf with a package", linked, bytesToo)
}
