package main

import (
	"io"

	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/embed"
)

func embedVerb() cli.Verb {
	return cli.Verb{
		Name:    "embed",
		Summary: "put BTF into a module or vmlinux, or into an object to link vmlinux with",
		Args:    "IN",
		Long: `
Writes the ELF file IN with the BTF of --btf as its section .BTF, and with that of --btf-base,
the distilled base, as .BTF.base; without --btf-base it has no .BTF.base. Sections that IN has
are replaced, others are added. All else stays: other sections, symbols, relocations, and all
that is loaded. The result doesn't depend on the content of the BTF that IN had.

IN is a kernel module, vmlinux or any other ELF file with section headers, of any machine, not
compressed. If IN is linked and its .BTF is loaded, the BTF must have the size that the linker
has made room for; to link vmlinux with BTF of another size, use --object.

With --object it writes a relocatable ELF file that has nothing but the BTF, in a section .BTF
that is loaded, for the linker to put between __start_BTF and __stop_BTF. IN is then any ELF
file for the same machine and ABI, such as an object or an earlier link of the kernel; only its
ELF header is used.`,
		Examples: []string{
			"btfdedup embed -o out/disk.ko --btf disk.btf disk.ko",
			"# an external module, whose BTF stands on a distilled base",
			"btfdedup embed -o out/disk.ko --btf disk.btf --btf-base disk.base.btf disk.ko",
			"# for the last link of vmlinux",
			"btfdedup embed --object -o vmlinux.btf.o --btf vmlinux.btf .tmp_vmlinux1",
		},
		Flags: cli.Output,
		Setup: func(flags *cli.FlagSet) cli.Run {
			var r embedRun
			flags.InputVar(&r.types, "btf", "the BTF, raw: a `FILE` from btfdedup link")
			flags.InputVar(&r.base, "btf-base",
				"the distilled base that the BTF stands on: a `FILE` from btfdedup link --distilled-base")
			flags.BoolVar(&r.dropSignature, "drop-signature", false,
				"cut off the signature of a signed module, which would no longer hold")
			flags.BoolVar(&r.object, "object", false, "write an object to link with")
			return r.run
		},
	}
}

// embedRun is one run of the verb.
type embedRun struct {
	types, base           string
	dropSignature, object bool
}

func (r *embedRun) run(env *cli.Env, args []string) error {
	if r.object && (r.base != "" || r.dropSignature) {
		return cli.Usagef("--object is for vmlinux; --btf-base and --drop-signature are for modules")
	}
	f, err := elf.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	if r.types == "" {
		return cli.Usagef("--btf=FILE is missing")
	}
	types, err := embed.ReadBlob(r.types)
	if err != nil {
		return err
	}
	if r.object {
		data, err := embed.Object(f, types)
		if err != nil {
			return err
		}
		return env.WriteOutput(env.Output, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	var base *embed.Blob
	if r.base != "" {
		if base, err = embed.ReadBlob(r.base); err != nil {
			return err
		}
	}
	if f, err = embed.Unsigned(f, r.dropSignature); err != nil {
		return err
	}
	edit, err := embed.Into(f, types, base)
	if err != nil {
		return err
	}
	return env.WriteOutput(env.Output, edit.Write)
}
