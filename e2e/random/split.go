package random

import (
	"errors"
	"fmt"
	"slices"
)

// checkSplit: a part of the objects is a kernel and the rest is a module. The module's BTF depends
// on the set of its objects alone, and has no type that the kernel has.
func checkSplit(b *Build) error {
	objects := shuffled(b.random(4), b.Objects())
	if len(objects) < 2 {
		return nil
	}
	n := 1 + b.random(5).IntN(len(objects)-1)
	kernel, module := objects[:n], objects[n:]
	if err := b.link("kernel", kernel); err != nil {
		return err
	}
	if err := b.btfgen("elf", "-o", "kernel.btf", "kernel"); err != nil {
		return err
	}
	if err := b.relocatable("module.ko", module); err != nil {
		return err
	}
	if err := b.btfgen("facts", "-o", "module.facts", "module.ko"); err != nil {
		return err
	}
	var all []result
	add := func(way string, do func(out string) error) error {
		data, err := b.make(do)
		all = append(all, result{way, data})
		return err
	}
	link := func(way, jobs string, in ...string) error {
		return add(way, func(out string) error {
			return b.btfdedup(append([]string{"link", jobs, "--base", "kernel.btf", "--facts",
				"module.facts",
				"-o", out}, in...)...)
		})
	}
	var units []string
	for _, o := range module {
		unit, err := b.BTFObject(o)
		if err != nil {
			return err
		}
		units = append(units, unit)
	}
	reversed := slices.Clone(units)
	slices.Reverse(reversed)
	merged, err := b.merged(reversed...)
	if err != nil {
		return err
	}
	split := b.temporary(".split.btf")
	for _, err := range []error{
		link("btfdedup link of the module's objects", "-j1", units...),
		b.write(split, all[0].bytes),
		link("btfdedup link of them reversed", "-j8", reversed...),
		link("btfdedup link of them merged", "-j2", merged),
		add("btfgen elf of the module", func(out string) error {
			return b.btfgen("elf", "-j2", "--base", "kernel.btf", "-o", out, "module.ko")
		}),
	} {
		if err != nil {
			return err
		}
	}
	// A declaration tag of a type of the base that the module declares too may add a declaration.
	if !b.Program.contains("btf_decl_tag") {
		if err := add("btfdedup link of the result", func(out string) error {
			return b.btfdedup("link", "--base", "kernel.btf", "-o", out, split)
		}); err != nil {
			return err
		}
	}
	if loses, err := b.losesScopes(); err != nil {
		return err
	} else if loses { // the module's file says less than its objects
		all = slices.Delete(all, 3, 4)
	}
	if err := sameBytesOf(all,
		"kernel: "+fmt.Sprint(kernel)+", module: "+fmt.Sprint(module)); err != nil {
		return err
	}
	if err := b.verify("--base", "kernel.btf", split); err != nil {
		return err
	}
	return b.splitTwins("kernel.btf", split)
}

// sameBytesOf is sameBytes for split BTF, whose types can't be compared without the base.
func sameBytesOf(all []result, who string) error {
	var other []string
	for _, r := range all[1:] {
		if string(r.bytes) != string(all[0].bytes) {
			other = append(other, fmt.Sprintf("%s and %s give other bytes (%d and %d); %s", all[0].way,
				r.way,
				len(all[0].bytes), len(r.bytes), who))
		}
	}
	return list(other)
}

func (b *Build) splitTwins(base, split string) error {
	baseData, err := b.read(base)
	if err != nil {
		return err
	}
	splitData, err := b.read(split)
	if err != nil {
		return err
	}
	baseSpec, err := loadBTF(baseData, nil)
	if err != nil {
		return err
	}
	spec, err := loadBTF(splitData, baseSpec)
	if err != nil {
		return fmt.Errorf("cilium/ebpf: %w", err)
	}
	baseTypes, err := allTypes(baseSpec)
	if err != nil {
		return err
	}
	types, err := allTypes(spec)
	return errors.Join(err, twins(baseTypes, types))
}
