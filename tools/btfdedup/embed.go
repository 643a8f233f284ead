package main

import (
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/embed"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

func embedCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "embed IN",
		Short: "Put BTF into a module or vmlinux, or into an object to link vmlinux with",
		Long: `
Writes a copy of the ELF file IN whose section .BTF is the BTF of --btf, and whose .BTF.base is the
distilled base of --btf-base; without --btf-base there is no .BTF.base. Everything else stays: other
sections, symbols, relocations, and what is loaded. The BTF that IN had doesn't matter.

With --resolve-ids, .BTF_ids (if IN has it) gets the type ids of the BTF, as "btfdedup resolve-ids"
does; the BTF is based on --btf-base, or else on --base. If IN was resolved before, its old .BTF
says which kfunc each flag belongs to; that BTF is based on --old-base, or else on --base. The
kernel refuses a module whose ids are of other BTF. If a kfunc foo has implicit arguments
(KF_IMPLICIT_ARGS, since Linux 7.0), the BTF that is embedded has two functions for it, foo and
foo_impl, as from "btfdedup resolve-ids --btf-out"; --btf-out writes this BTF too, as a base for
modules, for example.

IN is a kernel module, vmlinux or any other ELF file with section headers, of any machine, not
compressed. If IN is linked and loads its .BTF, the BTF must have the size that the linker reserved;
to link vmlinux with BTF of another size, use --object.

With --object the output is a relocatable ELF file with the BTF alone, in a loaded section .BTF, for
the linker to put between __start_BTF and __stop_BTF. Then IN is any ELF file for the same machine
and ABI, such as an object; only its ELF header is used.`,
		Example: `
btfdedup embed -o out/disk.ko --btf disk.btf disk.ko
# a module that has kfuncs, maybe
btfdedup embed -o out/nf.ko --btf nf.btf --resolve-ids --base vmlinux.btf nf.ko
# an external module, whose BTF is based on a distilled base
btfdedup embed -o out/disk.ko --btf disk.btf --btf-base disk.base.btf disk.ko
# for the last link of vmlinux
btfdedup embed --object -o vmlinux.btf.o --btf vmlinux.btf .tmp_vmlinux1`,
	}, cli.Output|cli.Base)
	var r embedRun
	flags.InputVar(&r.types, "btf", "the raw BTF to embed: a `FILE` from btfdedup link")
	flags.InputVar(&r.base, "btf-base",
		"the distilled base of the BTF: a `FILE` from btfdedup link --distilled-base")
	flags.BoolVar(&r.dropSignature, "drop-signature", false,
		"remove the signature of a signed module, which would become invalid")
	flags.BoolVar(&r.resolve, "resolve-ids", false,
		"write the type ids of the BTF to the section .BTF_ids")
	flags.InputVar(&r.oldBase, "old-base",
		"the BTF `FILE` on which the old .BTF of a resolved module is based")
	flags.OutputVar(&r.typesOut, "btf-out",
		"with --resolve-ids: also write the embedded BTF to `FILE`")
	flags.BoolVar(&r.fatal, "fatal-warnings", false, "with --resolve-ids: warnings are errors")
	flags.BoolVar(&r.object, "object", false, "write an object to link with")
	return flags.Command(r.run)
}

// embedRun is one run of the verb.
type embedRun struct {
	types, base, typesOut  string
	oldBase                string
	dropSignature, resolve bool
	object, fatal          bool
}

func (r *embedRun) check(env *cli.Env) error {
	switch {
	case r.types == "":
		return cli.Usagef("--btf FILE is missing")
	case r.object && (r.base != "" || r.dropSignature || r.resolve):
		return cli.Usagef("--object is for vmlinux; --btf-base, --drop-signature and --resolve-ids are " +
			"for modules")
	case !r.resolve && (len(env.Bases) > 0 || r.oldBase != "" || r.typesOut != "" || r.fatal):
		return cli.Usagef("--base, --old-base, --btf-out and --fatal-warnings go with --resolve-ids")
	case r.base != "" && len(env.Bases) > 0:
		return cli.Usagef("--btf-base and --base contradict each other: with a distilled base, .BTF_ids " +
			"has its ids, which the kernel translates")
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
		if base, err = readBelow(r.base, types); err != nil {
			return err
		}
	}
	if f, err = embed.Unsigned(f, r.dropSignature); err != nil {
		return err
	}
	if !r.resolve {
		edit, err := embed.Into(f, types, base)
		if err != nil {
			return err
		}
		r.warnOfIDs(env, f, types)
		return env.WriteOutput(env.Output, edit.Write)
	}
	edit, data, err := r.intoWithIDs(env, f, types, base)
	if err != nil {
		return err
	}
	outputs := []cli.Artifact{{Path: env.Output, File: edit.Write}}
	if r.typesOut != "" {
		outputs = append(outputs, cli.Artifact{Path: r.typesOut, File: cli.Bytes(data)})
	}
	return env.WriteOutputs(outputs...)
}

// readBelow reads the distilled base, raw, on which types are based.
func readBelow(path string, types *embed.Blob) (*embed.Blob, error) {
	base, err := embed.ReadBlob(path)
	if err != nil {
		return nil, err
	}
	on, err := base.Parse(nil)
	if err != nil {
		return nil, err
	}
	if err := relocate.CheckDistilled(on); err != nil {
		return nil, fmt.Errorf("%s: %w; make it with btfdedup link --distilled-base", path, err)
	}
	_, err = readOn(types, on)
	return base, err
}

// readOn reads the types of BTF that was made on a base.
func readOn(types *embed.Blob, base *btf.Blob) (*btf.Blob, error) {
	b, err := types.Parse(base)
	if err != nil {
		return nil, err
	}
	if err := b.CheckRefs(); err != nil {
		return nil, fmt.Errorf("%s: %w", types.Path, err)
	}
	return b, nil
}

// warnOfIDs warns of ids that may be other BTF's.
func (r *embedRun) warnOfIDs(env *cli.Env, f *elf.File, types *embed.Blob) {
	if section, err := btfids.Find(f); err == nil && section != nil && section.Resolved() {
		env.Warn("%s: section %s has ids already, and the kernel refuses the module unless they are "+
			"those of %s: add --resolve-ids", f.Path, btfids.SectionName, types.Path)
	}
}

// intoWithIDs puts BTF and its ids into f, and returns the BTF too.
func (r *embedRun) intoWithIDs(env *cli.Env, f *elf.File, types, base *embed.Blob) (*elfwrite.Edit,
	[]byte, error) {
	bases := sync.OnceValues(func() (*btf.Blob, error) { return relocate.ReadBases(env.Bases) })
	ids, err := resolveids.Find(f, func() (*btf.Blob, error) {
		if r.oldBase == "" {
			return bases()
		}
		return btf.ReadOne(r.oldBase, nil)
	})
	if err != nil {
		return nil, nil, err
	}
	if base == nil && len(env.Bases) > 0 {
		on, err := bases()
		if err != nil {
			return nil, nil, err
		}
		if _, err := readOn(types, on); err != nil {
			return nil, nil, err
		}
	}
	below := bases
	if base != nil {
		below = func() (*btf.Blob, error) { return base.Parse(nil) }
	}
	return intoWithIDs(env, f, ids, types, base, below, r.fatal)
}

// intoWithIDs puts BTF, which may be based on a distilled base, into f, with its ids, and returns
// the BTF too. ids may be nil; below reads what the BTF is based on.
func intoWithIDs(env *cli.Env, f *elf.File, ids *resolveids.IDs, types, base *embed.Blob,
	below resolveids.Base, fatal bool) (*elfwrite.Edit, []byte, error) {
	if ids == nil {
		edit, err := embed.Into(f, types, base)
		return edit, types.Data, err
	}
	on, err := below()
	if err != nil {
		return nil, nil, err
	}
	b, err := readOn(types, on)
	if err != nil {
		return nil, nil, err
	}
	data, b, err := ids.Explicit(types.Data, b, types.Path, env.Jobs)
	if err != nil {
		return nil, nil, err
	}
	if types, err = embed.NewBlob(types.Path, data); err != nil {
		return nil, nil, err
	}
	edit, err := embed.Into(f, types, base)
	if err != nil {
		return nil, nil, err
	}
	return edit, data, setIDs(env, ids, edit, b, types.Path, fatal)
}

// setIDs fills in the ids of b in a file that is edited, and prints the warnings, or makes an error
// of them.
func setIDs(env *cli.Env, ids *resolveids.IDs, edit *elfwrite.Edit, b *btf.Blob, path string,
	fatal bool) error {
	warnings, err := ids.Into(edit, b, path)
	if err != nil {
		return err
	}
	return warnOf(env, ids.Path, warnings, fatal)
}
