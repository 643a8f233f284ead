package random

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// checkSplit makes a kernel from some of the objects, and a module from the others. The module's
// BTF must depend only on the set of its objects, and must have no type that the kernel has.
func checkSplit(b *Build) error {
	objects := shuffled(b.random(4), b.Objects())
	if len(objects) < 2 {
		return nil
	}
	n := 1 + b.random(5).IntN(len(objects)-1)
	kernel, module := objects[:n], objects[n:]
	b.link("kernel", kernel)
	b.btfgen("elf", "-o", "kernel.btf", "kernel")
	b.relocatable("module.ko", module)
	b.btfgen("facts", "-o", "module.facts", "module.ko")
	var all []result
	link := func(way, jobs string, in ...string) {
		all = append(all, result{way, b.make(func(out string) {
			b.btfdedup(append([]string{"link", jobs, "--base", "kernel.btf", "--facts", "module.facts",
				"-o", out}, in...)...)
		})})
	}
	var units []string
	for _, o := range module {
		units = append(units, b.BTFObject(o))
	}
	reversed := slices.Clone(units)
	slices.Reverse(reversed)
	link("btfdedup link of the module's objects", "-j1", units...)
	link("btfdedup link of the reversed objects", "-j8", reversed...)
	link("btfdedup link of the merged objects", "-j2", b.merged(reversed...))
	split := b.temporary(".split.btf")
	b.write(split, all[0].bytes)
	whole := b.make(func(out string) {
		b.btfgen("elf", "-j2", "--base", "kernel.btf", "-o", out, "module.ko")
	})
	if !b.losesScopes() { // if it does, the module has less information than its objects
		all = append(all, result{"btfgen elf of the module", whole})
	}
	// If the base defines a type with a declaration tag, and the module only declares the type,
	// linking the result again may add a forward declaration.
	if !b.Program.contains("btf_decl_tag") {
		all = append(all, result{"btfdedup link of the result", b.make(func(out string) {
			b.btfdedup("link", "--base", "kernel.btf", "-o", out, split)
		})})
	}
	harness.Check(sameBytesOf(all, "kernel: "+fmt.Sprint(kernel)+", module: "+fmt.Sprint(module)))
	base := harness.Get(content.Open(b.path("kernel.btf"), nil))
	return twins(harness.Get(content.Types(base)),
		harness.Get(content.Types(harness.Get(content.Open(b.path(split), base)))))
}

// sameBytesOf is like sameBytes, but doesn't show the types that differ; that would need the base.
func sameBytesOf(all []result, who string) error {
	var other []string
	for _, r := range all[1:] {
		if string(r.bytes) != string(all[0].bytes) {
			other = append(other, fmt.Sprintf("%s and %s give different bytes (%d and %d); %s", all[0].way,
				r.way, len(all[0].bytes), len(r.bytes), who))
		}
	}
	return list(other)
}
