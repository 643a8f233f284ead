package random

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
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
	loses, err := b.losesScopes()
	if err != nil {
		return err
	}
	this, other := result{"btfgen elf", want}, result{way, have}
	switch {
	case loses:
		return sameNames(this, other)
	case bytesToo:
		return sameBytes(this, other)
	}
	return sameTypes(this, other)
}

// losesScopes says whether it is lost which definition of a tag is meant where. A type unit
// declares the tags that it refers to, and the linker keeps one type unit of a signature, though
// the units that they come from may have different definitions of those tags. So with several
// definitions of a tag no more than each definition by itself can be compared.
func (b *Build) losesScopes() (bool, error) {
	if !b.Options.TypeUnits() {
		return false, nil
	}
	types, err := b.oneShotBTF()
	if err != nil {
		return false, err
	}
	count := map[string]int{}
	for _, t := range types {
		if kind := definitionKind(t); kind != "" && t.TypeName() != "" {
			count[kind+" "+t.TypeName()]++
			if count[kind+" "+t.TypeName()] > 1 {
				return true, nil
			}
		}
	}
	return false, nil
}

// sameNames is an error unless all results define the same by name, where what a definition refers
// to counts by its name only.
func sameNames(all ...result) error { return sameClasses(typeClasses, all...) }

// sameClasses is an error unless all results have the same of some classes.
func sameClasses(classes []content.Class, all ...result) error {
	var first *content.Contents
	for i, r := range all {
		spec, err := loadBTF(r.bytes, nil)
		if err != nil {
			return fmt.Errorf("%s: cilium/ebpf: %w", r.way, err)
		}
		contents, err := content.Of(spec)
		if err != nil {
			return err
		}
		if i == 0 {
			first = contents
			continue
		}
		var wrong []string
		for _, d := range compare.Contents(first, contents).Unexplained(classes...) {
			if declaresAnonymous(d.Ours) || declaresAnonymous(d.Oracle) {
				continue
			}
			wrong = append(wrong, fmt.Sprintf("%s %s: %s\n  %s: %s\n  %s: %s", d.Class, d.Name, d.Kind,
				all[0].way,
				strings.Join(d.Ours, "\n    "), r.way, strings.Join(d.Oracle, "\n    ")))
		}
		if err := list(wrong); err != nil {
			return err
		}
	}
	return nil
}

// declaresAnonymous says whether a definition has an anonymous struct or union of size 0. gcc
// declares those in type units, and defines them elsewhere: what they hold is lost.
func declaresAnonymous(definitions []string) bool {
	return slices.ContainsFunc(definitions, func(s string) bool {
		return strings.Contains(s, "struct  size=0 {") || strings.Contains(s, "union  size=0 {")
	})
}

// typeClasses are the classes of types that are defined by a name.
var typeClasses = []content.Class{content.Struct, content.Union, content.Enum, content.Typedef}

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

// checkTypeUnits: types in their own units are the same types.
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
