package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
)

func extractCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "extract FILE",
		Short: "Copy the BTF out of an ELF file, to the byte",
		Long: `
Writes the section .BTF of FILE, an ELF file such as vmlinux or a module. Its content isn't checked
or changed, except that a compressed section is decompressed. FILE may also be raw BTF, such as
/sys/kernel/btf/vmlinux, which is copied.

Use import for kernel images (vmlinuz) and compressed modules, or if the BTF should be checked.`,
		Example: `
btfdedup extract -o vmlinux.btf vmlinux
btfdedup extract --section=.BTF.base -o ext4.base.btf ext4.ko`,
	}, cli.Printed)
	section := btf.SectionTypes
	flags.ChoiceVar(&section, "section",
		"the `section` to copy: .BTF, or .BTF.base, the distilled base of some modules",
		btf.SectionTypes, btf.SectionBase)
	return flags.Command(func(env *cli.Env, args []string) error {
		data, err := sectionOf(args[0], section)
		if err != nil {
			return err
		}
		return env.WriteOutput(env.Output, cli.Bytes(data))
	})
}

// sectionOf is the content of a section of an ELF file, or of raw BTF if .BTF is asked for.
func sectionOf(path, section string) ([]byte, error) {
	f, data, err := btf.Open(path)
	if err != nil {
		return nil, err
	}
	if f == nil {
		switch {
		case !btf.HasMagic(data):
			return nil, fmt.Errorf("%s: neither an ELF file nor raw BTF; of kernel images and compressed "+
				"files, take the BTF with btfdedup import", path)
		case section != btf.SectionTypes:
			return nil, fmt.Errorf("%s: raw BTF has no section %s; give the ELF file", path, section)
		}
		return data, nil
	}
	defer f.Close()
	found, err := btf.Section(f, section)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case found == nil && section == btf.SectionBase:
		return nil, fmt.Errorf("%s: no section %s: its BTF is based on that of the kernel, or has no "+
			"base",
			path, section)
	case found == nil:
		return nil, fmt.Errorf("%s: no section %s; make BTF of its DWARF with btfgen elf", path, section)
	}
	return append([]byte(nil), found...), nil // the file's memory is about to go
}
