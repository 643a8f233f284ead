package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/kernelbtf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

func importCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "import FILE",
		Short: "Extract the BTF of a kernel image or module, such as one that a distribution ships",
		Long: `
Checks the BTF of FILE against the kernel's rules, and writes the BTF unchanged. With the BTF of a
distribution's kernel as base, you can link modules for that kernel.

FILE is

    - a bootable kernel: a bzImage (vmlinuz) for x86, a flat Image for arm64, riscv or loongarch, or
      an EFI zboot image,
    - vmlinux, a module, or any other ELF file with a section .BTF,
    - raw BTF, such as /sys/kernel/btf/vmlinux,

or any of these, compressed with gzip, xz, zstd, lz4, lzma or bzip2; lzo is not supported. For other
images, extract vmlinux first, with scripts/extract-vmlinux from the kernel source.

The BTF of a module is based on the BTF of its kernel: pass the kernel's BTF as --base.`,
		Example: `
btfdedup import -o vmlinux.btf /boot/vmlinuz-7.2.0
btfdedup import -o xfs.btf --base vmlinux.btf xfs.ko.xz`,
	}, cli.Output|cli.Base)
	var r importRun
	flags.MaxDecompressedVar(&r.maxDecompressed)
	flags.BoolVar(&r.forOldBase, "for-old-base", false, "FILE is an ELF file: write its BTF for "+
		"--old-base of other verbs, without a check; write an empty file if it has none")
	return flags.Command(r.run)
}

type importRun struct {
	maxDecompressed int
	forOldBase      bool
}

func (r *importRun) run(env *cli.Env, args []string) error {
	if r.forOldBase {
		return writeOldBase(env, args[0])
	}
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return err
	}
	found, err := kernelbtf.Read(args[0], r.maxDecompressed)
	if err != nil {
		return err
	}
	if err := checkImported(found.Data, base); err != nil {
		return fmt.Errorf("%s: %w", found.Label, err)
	}
	return env.WriteOutput(env.Output, cli.Bytes(found.Data))
}

// writeOldBase writes the section .BTF of an ELF file, or an empty file if there is none.
func writeOldBase(env *cli.Env, path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := btf.Section(f, btf.SectionTypes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return env.WriteOutput(env.Output, cli.Bytes(data))
}

// checkImported checks that BTF obeys the rules of the kernel, including the rules for
// BPF_BTF_LOAD. base is the BTF of --base.
func checkImported(data []byte, base *btf.Blob) error {
	b, err := btf.Parse(data, base)
	if err != nil {
		if all, err := btf.ParseAll(data, base); err == nil && len(all) > 1 {
			return fmt.Errorf("it holds %d BTF blobs, one after the other, which the kernel can't "+
				"read; merge them first with btfdedup link", len(all))
		}
		return err
	}
	if base != nil && standsAlone(data) {
		return errors.New("its BTF is not split BTF: leave out --base")
	}
	if err := b.CheckRefs(); err != nil && base != nil {
		return err
	}
	found := violations(b)
	switch {
	case len(found) == 0:
		return nil
	case base != nil:
		return fmt.Errorf("with this --base, the kernel refuses the BTF: %v",
			found[0])
	}
	return fmt.Errorf("the kernel refuses this BTF (btfdedup verify lists all reasons): "+
		"%v", found[0])
}

// standsAlone reports whether BTF has no base. Split BTF has names and references that make no
// sense without its base.
func standsAlone(data []byte) bool {
	b, err := btf.Parse(data, nil)
	return err == nil && len(violations(b)) == 0
}

func violations(b *btf.Blob) []verify.Violation {
	load := verify.Load
	return verify.Check(b, verify.Options{Only: &load})
}
