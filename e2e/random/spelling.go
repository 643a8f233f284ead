package random

import (
	"bytes"
	"debug/elf"
	"slices"
)

const perCPUSection = ".data..percpu"

// hasPerCPU says whether a file has per-CPU variables, whose offsets are up to the C linker.
func hasPerCPU(path string) (bool, error) {
	f, err := elf.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return f.Section(perCPUSection) != nil, nil
}

// compareBuilt wants a program that was built in another way to have the same types as the program.
func (b *Build) compareBuilt(way, linked string, bytesToo bool) error {
	name, err := b.OneShot()
	if err != nil {
		return err
	}
	want, err := b.read(name)
	if err != nil {
		return err
	}
	have, err := b.make(func(out string) error { return b.btfgen("elf", "-o", out, linked) })
	if err != nil {
		return err
	}
	if bytes.Equal(have, want) {
		return nil
	}
	this, other := result{"btfgen elf", want}, result{way, have}
	if bytesToo {
		return sameBytes(this, other)
	}
	return sameTypes(this, other)
}

// checkOrder: the order in which the C linker takes the objects changes no type. Without per-CPU
// variables it changes nothing.
func checkOrder(b *Build) error {
	linked, err := b.Linked()
	if err != nil {
		return err
	}
	perCPU, err := hasPerCPU(b.path(linked))
	if err != nil {
		return err
	}
	reversed := b.Objects()
	slices.Reverse(reversed)
	for i, objects := range [][]string{reversed, shuffled(b.random(3), reversed)} {
		name := []string{"reversed", "shuffled"}[i]
		if err := b.link(name, objects); err != nil {
			return err
		}
		if err := b.compareBuilt("btfgen elf of the "+name+" objects", name, !perCPU); err != nil {
			return err
		}
	}
	return nil
}

// checkTypeUnits: types in units of their own are the same types. What a unit only declares may be
// decided otherwise, as a unit with type units says less of what it declares.
func checkTypeUnits(b *Build) error {
	plain := b.Options
	plain.DWARF = slices.DeleteFunc(slices.Clone(plain.DWARF), func(f string) bool {
		return f == "-fdebug-types-section"
	})
	var objects []string
	for i, u := range b.Program.Units {
		if u.gone {
			continue
		}
		output := "plain/" + object(u)
		if err := b.compile(i, u, plain, output); err != nil {
			return err
		}
		objects = append(objects, output)
	}
	if err := b.link("plain/linked", objects); err != nil {
		return err
	}
	return b.compareBuilt("btfgen elf without type units", "plain/linked", false)
}
