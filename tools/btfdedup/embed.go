package main

import (
	"sync"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/btfids"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
	"github.com/rules-btf/rules_btf/internal/embed"
	"github.com/rules-btf/rules_btf/internal/resolveids"
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

With --resolve-ids the type ids in .BTF_ids, if IN has that section, are those of the BTF, which
stands on --btf-base or else on --base, as "btfdedup resolve-ids" fills them in. If IN was resolved
before, its old .BTF tells whose the flags of kfuncs are; that stands on --old-base or else --base.
A kernel refuses a module with ids of other BTF.

IN is a kernel module, vmlinux or any other ELF file with section headers, of any machine, not
compressed. If IN is linked and its .BTF is loaded, the BTF must have the size that the linker
has made room for; to link vmlinux with BTF of another size, use --object.

With --object it writes a relocatable ELF file that has nothing but the BTF, in a section .BTF
that is loaded, for the linker to put between __start_BTF and __stop_BTF. IN is then any ELF
file for the same machine and ABI, such as an object or an earlier link of the kernel; only its
ELF header is used.`,
		Examples: []string{
			"btfdedup embed -o out/disk.ko --btf disk.btf disk.ko",
			"# a module that has kfuncs, maybe",
			"btfdedup embed -o out/nf.ko --btf nf.btf --resolve-ids --base vmlinux.btf nf.ko",
			"# an external module, whose BTF stands on a distilled base",
			"btfdedup embed -o out/disk.ko --btf disk.btf --btf-base disk.base.btf disk.ko",
			"# for the last link of vmlinux",
			"btfdedup embed --object -o vmlinux.btf.o --btf vmlinux.btf .tmp_vmlinux1",
		},
		Flags: cli.Output | cli.Base,
		Setup: func(flags *cli.FlagSet) cli.Run {
			var r embedRun
			flags.InputVar(&r.types, "btf", "the BTF, raw: a `FILE` from btfdedup link")
			flags.InputVar(&r.base, "btf-base",
				"the distilled base that the BTF stands on: a `FILE` from btfdedup link --distilled-base")
			flags.BoolVar(&r.dropSignature, "drop-signature", false,
				"cut off the signature of a signed module, which would no longer hold")
			flags.BoolVar(&r.resolve, "resolve-ids", false,
				"fill in the ids of the BTF in the section .BTF_ids")
			flags.InputVar(&r.oldBase, "old-base",
				"what the .BTF section of a module that was resolved before stands on: `FILE`")
			flags.BoolVar(&r.object, "object", false, "write an object to link with")
			return r.run
		},
	}
}

// embedRun is one run of the verb.
type embedRun struct {
	types, base            string
	oldBase                string
	dropSignature, resolve bool
	object                 bool
}

func (r *embedRun) check(env *cli.Env) error {
	switch {
	case r.types == "":
		return cli.Usagef("--btf=FILE is missing")
	case r.object && (r.base != "" || r.dropSignature || r.resolve):
		return cli.Usagef("--object is for vmlinux; --btf-base, --drop-signature and --resolve-ids are " +
			"for modules")
	case !r.resolve && (len(env.Bases) > 0 || r.oldBase != ""):
		return cli.Usagef("--base and --old-base go with --resolve-ids")
	case r.base != "" && len(env.Bases) > 0:
		return cli.Usagef("--btf-base and --base contradict each other: ids on a distilled base are " +
			"those that it has; the kernel translates them")
	}
	return nil
}

func (r *embedRun) run(env *cli.Env, args []string) error {
	f, err := elf.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.check(env); err != nil {
		return err
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
		return env.WriteOutput(env.Output, cli.Bytes(data))
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
	if err := r.ids(env, f, edit, types, base); err != nil {
		return err
	}
	return env.WriteOutput(env.Output, edit.Write)
}

// ids fills in .BTF_ids, or warns of ids that may be other BTF's.
func (r *embedRun) ids(env *cli.Env, f *elf.File, edit *elfwrite.Edit,
	types, base *embed.Blob) error {
	if !r.resolve {
		if section, err := btfids.Find(f); err == nil && section != nil && section.Resolved() {
			env.Warn("%s: section %s has ids already, and the kernel refuses the module if they are not "+
				"those of %s: --resolve-ids fills them in", f.Path, btfids.SectionName, types.Path)
		}
		return nil
	}
	bases := sync.OnceValues(func() (*btf.Blob, error) { return btf.ReadBases(env.Bases) })
	ids, err := resolveids.Find(f, func() (*btf.Blob, error) {
		if r.oldBase == "" {
			return bases()
		}
		return btf.ReadOne(r.oldBase, nil)
	})
	if ids == nil || err != nil {
		return err
	}
	below, err := bases()
	if base != nil && err == nil {
		below, err = base.Parse(nil)
	}
	if err != nil {
		return err
	}
	b, err := types.Parse(below)
	if err != nil {
		return err
	}
	return setIDs(env, ids, edit, b, types.Path)
}

// setIDs fills in the ids of b in a file that is edited, and prints the warnings.
func setIDs(env *cli.Env, ids *resolveids.IDs, edit *elfwrite.Edit, b *btf.Blob,
	path string) error {
	warnings, err := ids.Into(edit, b, path)
	for _, w := range warnings {
		env.Warn("%s: %s", ids.Path, w)
	}
	return err
}
