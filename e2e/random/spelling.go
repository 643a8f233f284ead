package random

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

const perCPUSection = ".data..percpu"

// compareBuilt wants a program that was built in another way to have the same types as the program.
func (b *Build) compareBuilt(way, linked string, bytesToo bool) error {
	want := b.oneShot()
	have := result{way, b.make(func(out string) { b.btfgen("elf", "-o", out, linked) })}
	switch {
	case bytes.Equal(have.bytes, want.bytes):
		return nil
	case b.losesScopes():
		return sameNames(want, have)
	case bytesToo:
		return sameBytes(want, have)
	}
	return sameTypes(want, have)
}

// losesScopes says whether it is lost which definition of a tag is meant where. A type unit
// declares the tags that it refers to, and the linker keeps one type unit of a signature, though
// the units that they come from may have different definitions of those tags. So with several
// definitions of a tag no more than each definition by itself can be compared.
func (b *Build) losesScopes() bool {
	if !b.Options.TypeUnits() {
		return false
	}
	seen := map[string]bool{}
	for _, t := range b.types() {
		if kind := definitionKind(t); kind != "" && t.TypeName() != "" {
			key := kind + " " + t.TypeName()
			if seen[key] {
				return true
			}
			seen[key] = true
		}
	}
	return false
}

// sameNames is an error unless all results define the same by name, where what a definition refers
// to counts by its name only.
func sameNames(all ...result) error { return sameClasses(typeClasses, all...) }

// sameClasses is an error unless all results have the same of some classes.
func sameClasses(classes []content.Class, all ...result) error {
	var first *content.Contents
	for i, r := range all {
		contents := harness.Get(content.Of(r.spec()))
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
				all[0].way, strings.Join(d.Ours, "\n    "), r.way, strings.Join(d.Oracle, "\n    ")))
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
	f := harness.Get(elf.Open(b.path(b.Linked())))
	perCPU := f.Section(perCPUSection) != nil // their offsets are up to the C linker
	f.Close()
	reversed := b.Objects()
	slices.Reverse(reversed)
	for i, objects := range [][]string{reversed, shuffled(b.random(3), reversed)} {
		name := []string{"reversed", "shuffled"}[i]
		b.link(name, objects)
		harness.Check(b.compareBuilt("btfgen elf of the "+name+" objects", name, !perCPU))
	}
	return nil
}

// checkTypeUnits: types in their own units are the same types.
func checkTypeUnits(b *Build) error {
	plain := b.Options
	plain.DWARF = slices.DeleteFunc(slices.Clone(plain.DWARF), func(f string) bool {
		return f == "-fdebug-types-section"
	})
	b.link("plain/linked", b.compileAll(plain, "plain"))
	return b.compareBuilt("btfgen elf without type units", "plain/linked", false)
}
