package random

import (
	"os"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// splits reports whether the compilers can split the DWARF, which must have version 4 or 5.
func splits(p *Program, o Options) bool {
	assembly := slices.ContainsFunc(p.Files(), func(u *Unit) bool {
		return strings.HasSuffix(u.Path, ".s")
	})
	return !assembly && (o.has("-gdwarf-4") || o.has("-gdwarf-5"))
}

// checkSplitDWARF checks that units in .dwo files give the same BTF as units in object files: the
// same BTF objects, and the same BTF of the linked file, even if a .dwp replaces the .dwo files.
func checkSplitDWARF(b *Build) error {
	objects := b.compileAll(b.Options, "splitdwarf", "-gsplit-dwarf")
	var dwos []string
	for i, plain := range b.Objects() {
		split := objects[i]
		for _, features := range []string{"default", b.Options.Features} {
			if err := sameBytes(result{plain, b.read(b.featuresObject(plain, features))},
				result{split, b.read(b.featuresObject(split, features))}); err != nil {
				return err
			}
		}
		dwos = append(dwos, strings.TrimSuffix(split, ".o")+".dwo")
	}
	const linked = "splitdwarf/linked"
	b.link(linked, objects)
	// A type unit to which nothing refers belongs to the compilation unit if it is in a .dwo file,
	// but is converted as a separate unit if it is in a linked file.
	bytesToo := !b.Options.TypeUnits()
	harness.Check(b.compareBuilt("btfgen elf with .dwo files", linked, bytesToo))
	if b.Options.has("-gdwarf-5") && slices.Contains(b.Options.Compilers, "gcc") {
		return nil // on gcc's DWARF 5, llvm-dwp does not terminate
	}
	b.compiler(b.Dir, append([]string{"llvm-dwp", "-o", linked + ".dwp"}, dwos...)...)
	for _, dwo := range dwos {
		harness.Check(os.Remove(b.path(dwo)))
	}
	return b.compareBuilt("btfgen elf with a package", linked, bytesToo)
}
