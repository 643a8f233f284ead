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
Writes the ELF file IN with the BTF of --btf as its section .BTF, and with that of --btf-base,
the distilled base, as .BTF.base; without --btf-base it has no .BTF.base. Sections that IN has
are replaced, others are added. All else stays: other sections, symbols, relocations, and all
that is loaded. The result doesn't depend on the content of the BTF that IN had.

With --resolve-ids the type ids in .BTF_ids, if IN has that section, are those of the BTF, which
is based on --btf-base or else on --base, as "btfdedup resolve-ids" fills them in. If IN was
resolved before, its old .BTF tells whose the flags of kfuncs are; that is based on --old-base or
else --base. A kernel refuses a module with ids of other BTF. If the file has kfuncs with implicit
arguments (KF_IMPLICIT_ARGS, since Linux 7.0) that the BTF shows, other BTF is embedded, in which
such a kfunc foo is two functions, foo and foo_impl: that of "btfdedup resolve-ids --btf-out". Here
too --btf-out writes it, for what is based on it: the BTF of vmlinux's modules, for example.

IN is a kernel module, vmlinux or any other ELF file with section headers, of any machine, not
compressed. If IN is linked and its .BTF is loaded, the BTF must have the size that the linker
has made room for; to link vmlinux with BTF of another size, use --object.

With --object it writes a relocatable ELF file that has only the BTF, in a section .BTF
that is loaded, for the linker to put between __start_BTF and __stop_BTF. IN is then any ELF
file for the same machine and ABI, such as an object or an earlier link of the kernel; only its
ELF header is used.`,
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
	flags.InputVar(&r.types, "btf", "the BTF, raw: a `FILE` from btfdedup link")
	flags.InputVar(&r.base, "btf-base",
		"the distilled base that the BTF is based on: a `FILE` from btfdedup link --distilled-base")
	flags.BoolVar(&r.dropSignature, "drop-signature", false,
		"cut off the signature of a signed module, which would no longer hold")
	flags.BoolVar(&r.resolve, "resolve-ids", false,
		"fill in the ids of the BTF in the section .BTF_ids")
	flags.InputVar(&r.oldBase, "old-base",
		"what the .BTF section of a module that was resolved before is based on: `FILE`")
	flags.OutputVar(&r.typesOut, "btf-out",
		"with --resolve-ids: write the BTF that is embedded to `FILE`")
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
		env.Warn("%s: section %s has ids already, and the kernel refuses the module if they are not "+
			"those of %s: --resolve-ids fills them in", f.Path, btfids.SectionName, types.Path)
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
