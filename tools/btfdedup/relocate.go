package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

func relocateCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "relocate FILE",
		Short: "Relocate BTF from its distilled base to the BTF of a kernel",
		Long: `
Writes the split BTF of FILE, based on --base instead of its distilled base, as the kernel does
when it loads a module with the sections .BTF and .BTF.base: each type of the distilled base is
looked up in the base, and ids and string offsets are replaced. The result is what the kernel then
shows in /sys/kernel/btf.

FILE is an ELF file with both sections, or raw BTF from "btfdedup link --distilled-base"; for raw
BTF, --distilled-base names its base. --inline relocates the section .BTF.inline of an ELF file
instead, the sites of inlined functions. Raw BTF with sites is based on two files: repeat
--distilled-base for the BTF of the module.

Types match if they have the same name, kind and size. The size may differ for a forward
declaration. It may also differ for a struct or union that no type of FILE embeds, if the base has
only one of that name. A type with no match, or with several, is an error, as it is for the
kernel.`,
		Example: `
btfdedup relocate -o disk.btf --base vmlinux.btf disk.ko
# raw BTF that is based on a distilled base
btfdedup relocate -o new.btf --distilled-base disk.base.btf --base vmlinux.btf disk.btf
# the sites of inlined functions, to be used with --base vmlinux.btf --base new.btf
btfdedup relocate --inline -o new.inline.btf --base vmlinux.btf disk.ko`,
	}, cli.Output|cli.Base)
	var r relocateRun
	flags.InputsVar(&r.distilled, "distilled-base",
		"the `BASE` from which FILE is relocated; the default is the section .BTF.base of FILE; "+
			"repeat the flag for a chain of bases, the distilled base first")
	flags.BoolVar(&r.inline, "inline", false,
		"relocate the section .BTF.inline of FILE instead of .BTF")
	return flags.Command(r.run)
}

type relocateRun struct {
	distilled []string
	inline    bool
}

func (r *relocateRun) run(env *cli.Env, files []string) error {
	switch {
	case len(env.Bases) == 0:
		return cli.Usagef("--base FILE is missing: the BTF to which FILE is relocated")
	case r.inline && len(r.distilled) > 0:
		return cli.Usagef("--inline and --distilled-base can't be used together")
	}
	file := files[0]
	split, err := r.read(file)
	if err != nil {
		return err
	}
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return err
	}
	result, err := relocate.Relocate(split, base)
	if err != nil {
		return fmt.Errorf("%s on %s: %w", file, env.Bases[len(env.Bases)-1], err)
	}
	// Keep the form of the header. So does the kernel, because it changes the BTF in place.
	data, err := btf.Encode(result, split.Header.Form())
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return env.WriteOutput(env.Output, cli.Bytes(data))
}

// read reads the BTF to relocate, and the chain of its bases. These are in their own files, or in
// the ELF file with the BTF.
func (r *relocateRun) read(file string) (*btf.Blob, error) {
	if len(r.distilled) > 0 {
		var base *btf.Blob
		for _, path := range append(slices.Clone(r.distilled), file) {
			var err error
			if base, err = btf.ReadOne(path, base); err != nil {
				return nil, err
			}
		}
		return base, nil
	}
	f, _, err := btf.Open(file)
	if err != nil {
		return nil, err
	}
	const name = "specify its distilled base with --distilled-base"
	if f == nil {
		return nil, fmt.Errorf("%s: it is not an ELF file with a section %s; %s", file,
			btf.SectionBase, name)
	}
	defer f.Close()
	if base, err := btf.Section(f, btf.SectionBase); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	} else if base == nil {
		return nil, fmt.Errorf("%s: %w", file, btf.Absent(f, btf.SectionBase, "; "+name))
	}
	blobs, err := btf.ReadELF(f, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(blobs) != 1 {
		return nil, fmt.Errorf("%s: the section %s holds %d BTF blobs, but must hold one", file,
			btf.SectionTypes, len(blobs))
	}
	if !r.inline {
		return blobs[0], nil
	}
	sites, err := btf.Section(f, btf.SectionInline)
	if err == nil && sites == nil {
		err = btf.Absent(f, btf.SectionInline, "")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	b, err := btf.Parse(sites, blobs[0])
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", file, btf.SectionInline, err)
	}
	return b, nil
}
