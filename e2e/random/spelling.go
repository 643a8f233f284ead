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

// compareBuilt checks that the program, if it is built in a different way, gives the same types or,
// if bytesToo is set, even the same bytes.
func (b *Build) compareBuilt(way, linked string, bytesToo bool) error {
	want := b.oneShot()
	skipped := b.temporary("")
	have := result{way, b.make(func(out string) {
		b.btfgen("elf", "--skipped", skipped, "-o", out, linked)
	})}
	harness.Check(sameLines(result{want.way, b.read("elf.skipped")}, result{way, b.read(skipped)}))
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

// losesScopes reports whether the DWARF no longer shows which definition of a tag is meant. A type
// unit only declares the tags to which it refers. If several type units have the same signature,
// the linker keeps only one of them, although each may come from a compilation unit with different
// definitions of these tags. So if a tag has several definitions, only texts can be compared.
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

// sameNames calls sameClasses for all classes in typeClasses.
func sameNames(all ...result) error { return sameClasses(typeClasses, all...) }

// sameClasses compares the texts of the definitions in the given classes. It returns an error
// unless all results have the same texts.
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

// declaresAnonymous reports whether a definition has an anonymous struct or union of size 0. In
// type units, gcc may only declare an anonymous type, so its size and members are lost.
func declaresAnonymous(definitions []string) bool {
	return slices.ContainsFunc(definitions, func(s string) bool {
		return strings.Contains(s, "struct  size=0 {") || strings.Contains(s, "union  size=0 {")
	})
}

// typeClasses are the classes of named types that a program can define.
var typeClasses = []content.Class{content.Struct, content.Union, content.Enum, content.Typedef}

// checkOrder checks that the order in which the C linker gets the objects doesn't affect the types.
// If there are no per-CPU variables, the order must not affect the bytes either.
func checkOrder(b *Build) error {
	f := harness.Get(elf.Open(b.path(b.Linked())))
	perCPU := f.Section(perCPUSection) != nil // the variables' offsets there depend on the order
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

// checkTypeUnits checks that the program has the same types without type units.
func checkTypeUnits(b *Build) error {
	plain := b.Options
	plain.DWARF = slices.DeleteFunc(slices.Clone(plain.DWARF), func(f string) bool {
		return f == "-fdebug-types-section"
	})
	b.link("plain/linked", b.compileAll(plain, "plain"))
	return b.compareBuilt("btfgen elf without type units", "plain/linked", false)
}
