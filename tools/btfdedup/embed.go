package main

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/embed"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

func embedCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "embed IN",
		Short: "Put BTF into a module or vmlinux, or into an object file to link into vmlinux",
		Long: `
Writes a copy of the ELF file IN with the BTF of --btf in the section .BTF, and the distilled base
of --btf-base in the section .BTF.base; without --btf-base the copy has no .BTF.base. Everything
else stays the same: other sections, symbols, relocations, and what is loaded. Any BTF that IN
already has is replaced.

With --resolve-ids, the section .BTF_ids (if IN has one) gets the type ids of the BTF, as with
"btfdedup resolve-ids"; the BTF is based on --btf-base, or else on --base. The kernel refuses a
module whose ids belong to different BTF. If the ids in IN are already resolved, the old .BTF of IN
is needed to find which flag belongs to which kfunc; the old BTF is based on --old-base, or else on
--base. If a kfunc foo has implicit arguments (KF_IMPLICIT_ARGS, since Linux 7.0), the embedded BTF
has two functions for it, foo and foo_impl, like the output of "btfdedup resolve-ids --btf-out".
--btf-out also writes the embedded BTF to a file, for example as a base for modules.

--inline also puts BTF of the sites where functions were inlined, which "btfgen inline" makes, into
the section .BTF.inline. It must be based on the BTF that is embedded, which is based on --btf-base
or --base. For the module btf_vmlinux_inline, it must be based on --base, the BTF of vmlinux.
Without this flag, the copy has no .BTF.inline.

IN is an uncompressed ELF file with section headers: a kernel module, vmlinux or any other, for any
machine. If IN is linked and its .BTF is in a loaded segment, like vmlinux, smaller BTF is padded
with zeros to the size that the linker reserved. To link vmlinux with larger BTF, use --object. BTF
of modules must be based on the padded BTF: use the result, or the file of --btf-out, as its base.

With --object the output is a relocatable ELF file with only the BTF, in a loaded section .BTF that
the linker puts between __start_BTF and __stop_BTF. IN can then be any ELF file for the same machine
and ABI, such as an object file; only its ELF header is used.`,
		Example: `
btfdedup embed -o out/disk.ko --btf disk.btf disk.ko
# a module that may have kfuncs
btfdedup embed -o out/nf.ko --btf nf.btf --resolve-ids --base vmlinux.btf nf.ko
# an external module, whose BTF is based on a distilled base
btfdedup embed -o out/disk.ko --btf disk.btf --btf-base disk.base.btf disk.ko
# with the sites of inlined functions
btfdedup embed -o out/disk.ko --btf disk.btf --inline disk.inline.btf --base vmlinux.btf disk.ko
# for the last link of vmlinux
btfdedup embed --object -o vmlinux.btf.o --btf vmlinux.btf .tmp_vmlinux1`,
	}, cli.Output|cli.Base|cli.Report)
	var r embedRun
	flags.InputVar(&r.types, "btf", "the raw BTF to embed: a `FILE` from btfdedup link")
	flags.InputVar(&r.base, "btf-base",
		"the distilled base of the BTF: a `FILE` from btfdedup link --distilled-base")
	flags.InputVar(&r.inline, "inline",
		"the BTF of inlined functions: a `FILE` from btfgen inline, based on the BTF of --btf")
	flags.BoolVar(&r.dropSignature, "drop-signature", false,
		"if the module is signed, remove the signature, which would become invalid")
	flags.BoolVar(&r.resolve, "resolve-ids", false,
		"write the type ids of the BTF to the section .BTF_ids")
	flags.InputVar(&r.oldBase, "old-base",
		"the BTF `FILE` on which the old .BTF is based, if the ids in IN are already resolved")
	flags.OutputVar(&r.typesOut, "btf-out",
		"with --resolve-ids: also write the embedded BTF to `FILE`")
	flags.BoolVar(&r.fatal, "fatal-warnings", false, "with --resolve-ids: treat warnings as errors")
	flags.BoolVar(&r.object, "object", false, "write an object file to be linked into vmlinux")
	return flags.Command(r.run)
}

type embedRun struct {
	types, base, typesOut  string
	inline                 string
	oldBase                string
	dropSignature, resolve bool
	object, fatal          bool
}

func (r *embedRun) check(env *cli.Env) error {
	switch {
	case r.types == "":
		return cli.Usagef("--btf FILE is missing")
	case r.object && (r.base != "" || r.dropSignature || r.resolve):
		return cli.Usagef("--object is for vmlinux; --btf-base, --drop-signature and --resolve-ids " +
			"are for modules")
	case r.object && r.inline != "":
		return cli.Usagef("--object and --inline can't be used together")
	case !r.resolve && (r.oldBase != "" || r.typesOut != "" || r.fatal):
		return cli.Usagef("--old-base, --btf-out and --fatal-warnings need --resolve-ids")
	case !r.resolve && r.inline == "" && len(env.Bases) > 0:
		return cli.Usagef("--base needs --resolve-ids or --inline")
	case r.base != "" && len(env.Bases) > 0:
		return cli.Usagef("--btf-base and --base can't be used together: the ids in .BTF_ids belong " +
			"to the distilled base, and the kernel translates them")
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
	run := report.Start(env, args)
	defer run.Close()
	run.Made(env.Output)
	types, err := embed.ReadBlob(r.types)
	if err != nil {
		return err
	}
	if r.object {
		data, err := embed.Object(f, types)
		if err != nil {
			return err
		}
		return run.Write(data)
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
		edit, data, err := embed.Into(f, types, base)
		if err == nil {
			err = r.addInline(env, edit, f, types, data)
		}
		if err != nil {
			return err
		}
		r.warnOfIDs(env, f, types)
		return run.Finish(cli.Artifact{Path: env.Output, File: edit.Write})
	}
	edit, data, err := r.intoWithIDs(env, f, types, base)
	if err == nil {
		err = r.addInline(env, edit, f, types, data)
	}
	if err != nil {
		return err
	}
	outputs := []cli.Artifact{{Path: env.Output, File: edit.Write}}
	if r.typesOut != "" {
		outputs = append(outputs, cli.Artifact{Path: r.typesOut, File: cli.Bytes(data)})
	}
	return run.Finish(outputs...)
}

// addInline puts the BTF of --inline into the edited file f. data is the BTF that is embedded,
// which differs from types if kfuncs have implicit arguments, or if it is padded.
func (r *embedRun) addInline(env *cli.Env, edit *elfwrite.Edit, f *elf.File, types *embed.Blob,
	data []byte) error {
	if r.inline == "" {
		return nil
	}
	if !bytes.Equal(data, types.Data) {
		return fmt.Errorf("%s: it is based on %s, but the embedded BTF differs, because kfuncs have "+
			"implicit arguments, or because it is padded: embed once with --btf-out, and make the BTF of "+
			"inlined functions with that output as --base", r.inline, types.Path)
	}
	inline, err := embed.ReadBlob(r.inline)
	if err != nil {
		return err
	}
	if err := embed.Inline(edit, f, inline, types); err != nil {
		return err
	}
	on, err := r.baseOfSites(env, f, types)
	if err == nil {
		err = verify.Sites(inline.Data, on)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.inline, err)
	}
	return nil
}

// baseOfSites returns the BTF on which the BTF of --inline must be based.
func (r *embedRun) baseOfSites(env *cli.Env, f *elf.File, types *embed.Blob) (*btf.Blob, error) {
	var on *btf.Blob
	switch alone, err := types.Parse(nil); {
	case err == nil:
		return alone, nil
	case r.base != "":
		base, err := embed.ReadBlob(r.base)
		if err == nil {
			on, err = base.Parse(nil)
		}
		if err != nil {
			return nil, err
		}
	case len(env.Bases) > 0:
		if on, err = relocate.ReadBases(env.Bases); err != nil {
			return nil, err
		}
	default:
		return nil, cli.Usagef("--inline needs --base, the BTF on which %s is based, to check that the "+
			"sites belong to it", r.types)
	}
	if f.ModuleInfo("name") == verify.SitesModule {
		return on, nil
	}
	return readOn(types, on)
}

// readBelow reads a raw distilled base, and checks it together with the BTF in types.
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

// readOn parses the BTF in types, which is based on base.
func readOn(types *embed.Blob, base *btf.Blob) (*btf.Blob, error) {
	b, err := types.Parse(base)
	if err != nil {
		return nil, err
	}
	return b, relocate.Fits(types.Path, b)
}

// warnOfIDs warns about ids that may belong to different BTF.
func (r *embedRun) warnOfIDs(env *cli.Env, f *elf.File, types *embed.Blob) {
	if section, err := btfids.Find(f); err == nil && section != nil && section.Resolved() {
		env.Warn("%s: section %s already has ids, and the kernel refuses the module unless they "+
			"belong to %s: add --resolve-ids", f.Path, btfids.SectionName, types.Path)
	}
}

// intoWithIDs puts BTF and the ids for .BTF_ids into f, and also returns the BTF.
func (r *embedRun) intoWithIDs(env *cli.Env, f *elf.File, types, base *embed.Blob) (*elfwrite.Edit,
	[]byte, error) {
	bases := sync.OnceValues(func() (*btf.Blob, error) { return relocate.ReadBases(env.Bases) })
	ids, err := resolveids.Find(f, readOldBase(r.oldBase, bases))
	if err != nil {
		return nil, nil, err
	}
	if base == nil && len(env.Bases) > 0 {
		on, err := bases()
		if err != nil {
			return nil, nil, err
		}
		if err := checkBase(env, f, on); err != nil {
			return nil, nil, err
		}
		b, err := readOn(types, on)
		if err != nil {
			return nil, nil, err
		}
		if err := warnOfForeign(env, f, b, types.Path); err != nil {
			return nil, nil, err
		}
		if f.IsModule() {
			warnOfChain(env)
		}
	}
	below := bases
	if base != nil {
		below = func() (*btf.Blob, error) { return base.Parse(nil) }
	}
	return intoWithIDs(env, f, ids, types, base, below, r.fatal)
}

// intoWithIDs puts BTF, which may be based on a distilled base, and the ids for .BTF_ids into f. It
// also returns the BTF. The parameter ids may be nil. readBase reads the base of the BTF.
func intoWithIDs(env *cli.Env, f *elf.File, ids *resolveids.IDs, types, base *embed.Blob,
	readBase resolveids.Base, fatal bool) (*elfwrite.Edit, []byte, error) {
	if ids == nil {
		return embed.Into(f, types, base)
	}
	on, err := readBase()
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
	edit, data, err := embed.Into(f, types, base)
	if err != nil {
		return nil, nil, err
	}
	return edit, data, setIDs(env, ids, edit, b, types.Path, fatal)
}

// setIDs fills in .BTF_ids in the edited file, with the ids of types in b. It prints warnings; if
// the parameter fatal is set, it returns an error instead.
func setIDs(env *cli.Env, ids *resolveids.IDs, edit *elfwrite.Edit, b *btf.Blob, path string,
	fatal bool) error {
	warnings, err := ids.Into(edit, b, path)
	if err != nil {
		return err
	}
	return warnOf(env, ids.Path, warnings, fatal)
}
