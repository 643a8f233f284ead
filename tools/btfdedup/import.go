package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

func importCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "import FILE",
		Short: "Take the BTF out of a kernel image or module that something else made",
		Long: `
Writes the BTF of FILE as it is, to the byte, after a check against the kernel's rules. Then modules
can be linked against a kernel that a distribution ships.

FILE is

    - a bootable kernel: a bzImage (vmlinuz) of x86, a flat Image of arm64, riscv or loongarch, an
      EFI zboot image,
    - vmlinux, a module, or any other ELF file with a section .BTF,
    - raw BTF, such as /sys/kernel/btf/vmlinux,

or one of these compressed with gzip, xz, zstd, lz4, lzma or bzip2; lzo is not supported. From other
images, extract vmlinux first: scripts/extract-vmlinux in the kernel's source does that.

The BTF of a module is based on its kernel's: pass that as --base.`,
		Example: `
btfdedup import -o vmlinux.btf /boot/vmlinuz-7.2.0
btfdedup import -o xfs.btf --base vmlinux.btf xfs.ko.xz`,
	}, cli.Output|cli.Base)
	var max int
	flags.MaxDecompressedVar(&max)
	return flags.Command(func(env *cli.Env, args []string) error { return runImport(env, args, max) })
}

func runImport(env *cli.Env, args []string, maxDecompressed int) error {
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return err
	}
	f, data, err := btf.Open(args[0])
	if err != nil {
		return err
	}
	content := kernelimage.Content{Form: kernelimage.ELF, Label: args[0]}
	if f == nil {
		if content, err = kernelimage.Unpack(args[0], data, maxDecompressed); err != nil {
			return err
		}
	}
	if f == nil && content.Form == kernelimage.ELF {
		if f, err = elf.Parse(content.Label, content.Data); err != nil {
			return err
		}
	}
	if f != nil {
		defer f.Close()
		f.MaxDecompressed = maxDecompressed
		data, err = elfBTF(f, content.Label != args[0])
	} else {
		data, err = plainBTF(content)
	}
	if err == nil {
		err = checkImported(data, base)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", content.Label, err)
	}
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// elfBTF is the BTF of an ELF file. packed is as for noSection.
func elfBTF(f *elf.File, packed bool) ([]byte, error) {
	if f.Section(btf.SectionBase) != nil {
		return nil, errors.New("its BTF is based on its own distilled base (section .BTF.base), so " +
			"it has the ids of no kernel; put it on a kernel's BTF with btfdedup relocate")
	}
	data, err := btf.Section(f, btf.SectionTypes)
	if data != nil || err != nil {
		return data, err
	}
	return nil, noSection(f, packed)
}

// noSection is the error for an ELF file without BTF. packed tells that it was in something else,
// as the executable file of a kernel is in its image.
func noSection(f *elf.File, packed bool) error {
	dwarf := f.Section(".debug_info") != nil
	option, what := "", ""
	switch {
	case f.IsModule():
		option, what = "CONFIG_DEBUG_INFO_BTF_MODULES", "module"
	case packed && !f.Relocatable(), f.Section("__ksymtab") != nil, f.Section(".init.text") != nil:
		option, what = "CONFIG_DEBUG_INFO_BTF", "kernel"
	case dwarf && f.Relocatable():
		return errors.New("no BTF (.BTF), but DWARF: it is an object file; convert it with btfgen " +
			"object, or as one of the srcs of vmlinux_btf, module_btf or btf_objects")
	case dwarf:
		return errors.New("no BTF (.BTF), but DWARF: make BTF of it with btfgen elf")
	default:
		return errors.New("no BTF (.BTF) and no DWARF (.debug_info): compile it with -g, and make BTF " +
			"of its DWARF with btfgen elf, or of an object file's with btfgen object")
	}
	if dwarf {
		return fmt.Errorf("no BTF: the %s was built without %s; make BTF of its DWARF with btfgen "+
			"elf", what, option)
	}
	return noBTF(what, option)
}

// plainBTF is the BTF of what is no ELF file.
func plainBTF(c kernelimage.Content) ([]byte, error) {
	if c.Form != kernelimage.Flat {
		if len(c.Data) > 0 && !btf.HasMagic(c.Data) {
			return nil, fmt.Errorf("neither a kernel image that is supported, nor an ELF file, nor raw BTF "+
				"(it starts with %q); of other images, extract vmlinux first with scripts/extract-vmlinux "+
				"of the kernel's source", c.Data[:min(4, len(c.Data))])
		}
		return c.Data, nil
	}
	data, err := kernelimage.FindBTF(c.Data)
	if data == nil && err == nil {
		err = noBTF("kernel", "CONFIG_DEBUG_INFO_BTF")
	}
	return data, err
}

func noBTF(what, option string) error {
	return fmt.Errorf("no BTF: the %s was built without %s; build it with that, or take the vmlinux "+
		"with DWARF of the same build and run btfgen elf", what, option)
}

// checkImported checks BTF by the rules of the kernel, those of BPF_BTF_LOAD included. base is what
// it is said to be based on.
func checkImported(data []byte, base *btf.Blob) error {
	b, err := btf.Parse(data, base)
	if err != nil {
		if all, err := btf.ParseAll(data, base); err == nil && len(all) > 1 {
			return fmt.Errorf("it holds %d BTF blobs, one after the other, which the kernel doesn't "+
				"read; merge them first with btfdedup link", len(all))
		}
		return err
	}
	if base != nil && standsAlone(data) {
		return errors.New("its BTF stands alone, as that of a kernel: leave out --base")
	}
	found := violations(b)
	switch {
	case len(found) == 0:
		return nil
	case base != nil:
		return fmt.Errorf("the kernel refuses this BTF, if it is based on what --base names: %v",
			found[0])
	}
	return fmt.Errorf("the kernel refuses this BTF (btfdedup verify lists all of it): %v", found[0])
}

// standsAlone reports whether BTF has no base. Types of split BTF have names and references that
// make no sense without its base.
func standsAlone(data []byte) bool {
	b, err := btf.Parse(data, nil)
	return err == nil && len(violations(b)) == 0
}

func violations(b *btf.Blob) []verify.Violation {
	load := verify.Load
	return verify.Check(b, verify.Options{Only: &load})
}
