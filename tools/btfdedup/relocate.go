package main

import (
	"fmt"

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
BTF, --distilled-base names its base.

Types match if they have the same name, kind and size. The size may differ for a forward
declaration. It may also differ for a struct or union that no type of FILE embeds, if the base has
only one of that name. A type with no match, or with several, is an error, as it is for the
kernel.`,
		Example: `
btfdedup relocate -o disk.btf --base vmlinux.btf disk.ko
# raw BTF that is based on a distilled base
btfdedup relocate -o new.btf --distilled-base disk.base.btf --base vmlinux.btf disk.btf`,
	}, cli.Output|cli.Base)
	var distilled string
	flags.InputVar(&distilled, "distilled-base",
		"the `BASE` from which FILE is relocated; the default is the section .BTF.base of FILE")
	return flags.Command(func(env *cli.Env, files []string) error {
		return runRelocate(env, distilled, files[0])
	})
}

func runRelocate(env *cli.Env, distilled, file string) error {
	if len(env.Bases) == 0 {
		return cli.Usagef("--base FILE is missing: the BTF to which FILE is relocated")
	}
	split, err := readDistilled(distilled, file)
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

// readDistilled reads BTF and its distilled base. The distilled base is in its own file, or in the
// ELF file with the BTF.
func readDistilled(distilled, file string) (*btf.Blob, error) {
	if distilled != "" {
		base, err := btf.ReadOne(distilled, nil)
		if err != nil {
			return nil, err
		}
		return btf.ReadOne(file, base)
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
		return nil, fmt.Errorf("%s: the ELF file has no section %s; %s", file, btf.SectionBase, name)
	}
	blobs, err := btf.ReadELF(f, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(blobs) != 1 {
		return nil, fmt.Errorf("%s: the section %s holds %d BTF blobs, but must hold one", file,
			btf.SectionTypes, len(blobs))
	}
	return blobs[0], nil
}
