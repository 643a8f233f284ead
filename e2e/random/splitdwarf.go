package random

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	const dir = "splitdwarf"
	var objects, dwos []string
	for i, u := range b.Program.Units {
		if u.gone {
			continue
		}
		o := filepath.Join(dir, object(u))
		if err := os.MkdirAll(filepath.Dir(b.path(o)), 0o777); err != nil {
			return err
		}
		argv := append(b.Options.Command(i, u), "-gsplit-dwarf", "-o", o, u.Path)
		if _, err := run(b.Dir, argv...); err != nil {
			return notBuilt{err}
		}
		if err := b.sameObject(object(u), o); err != nil {
			return err
		}
		objects = append(objects, o)
		dwos = append(dwos, strings.TrimSuffix(o, ".o")+".dwo")
	}
	linked := filepath.Join(dir, "linked")
	if err := b.link(linked, objects); err != nil {
		return err
	}
	// What nothing refers to is another unit's if types are in their own units.
	bytesToo := !b.Options.TypeUnits()
	if err := b.compareBuilt("btfgen elf with .dwo files", linked, bytesToo); err != nil {
		return err
	}
	if b.Options.has("-gdwarf-5") && slices.Contains(b.Options.Compilers, "gcc") {
		return nil // llvm-dwp does not end
	}
	argv := append([]string{"llvm-dwp", "-o", linked + ".dwp"}, dwos...)
	if _, err := run(b.Dir, argv...); err != nil {
		return notBuilt{err}
	}
	for _, dwo := range dwos {
		if err := os.Remove(b.path(dwo)); err != nil {
			return err
		}
	}
	return b.compareBuilt("btfgen elf with a package", linked, bytesToo)
}

// sameObject wants the BTF objects of two object files of one source to be the same bytes.
func (b *Build) sameObject(plain, other string) error {
	name, err := b.BTFObject(plain)
	if err != nil {
		return err
	}
	want, err := b.read(name)
	if err != nil {
		return err
	}
	if name, err = b.BTFObject(other); err != nil {
		return err
	}
	have, err := b.read(name)
	if err != nil {
		return err
	}
	if string(have) != string(want) {
		return fmt.Errorf("btfgen object of %s and %s give other bytes (%d and %d)", plain, other,
			len(want), len(have))
	}
	return nil
}
