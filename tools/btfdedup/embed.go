package main

import (
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/batch"
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
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
		Use:   "embed IN...",
		Short: "Put BTF into modules or vmlinux, or into an object file to link into vmlinux",
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

--btf-out also writes the embedded BTF to a file, for example as a base for modules. It differs from
--btf if it has no implicit arguments, or is padded.

--inline also puts BTF of the sites where functions were inlined, which "btfgen inline" makes, into
the section .BTF.inline. It must be based on the BTF of --btf, which is based on --btf-base or
--base. If the embedded BTF differs from --btf, the embedded sites are based on the embedded BTF;
--inline-out also writes them to a file. For the module btf_vmlinux_inline, the sites must be based
on --base, the BTF of vmlinux. Without --inline, or if there are no sites, the copy has no
.BTF.inline.

If --btf is a directory with the files NAME.btf that "btfgen modules" makes, each IN is a module, a
directory or archive of modules, or a kernel, whose BTF is vmlinux.btf; and -o, --btf-out, --inline
(with NAME.inline.btf) and --inline-out are directories too. The copy of a module that was found in
a directory keeps its path below that directory. A module that fails is an error; the other copies
are still written, and all errors are listed at the end. The files of one module appear together or
not at all. The default of --base is vmlinux.btf in the directory, if it exists. If a kernel that is
among the inputs has BTF, its old BTF is the default of --old-base.

IN is an ELF file with section headers: a kernel module, vmlinux or any other, for any machine. A
module may be compressed (.ko.xz, .ko.zst, .ko.gz); its copy is not. If IN is linked and its .BTF is
in a loaded segment, like vmlinux, smaller BTF is padded with zeros to the size that the linker
reserved. To link vmlinux with larger BTF, use --object. BTF of modules must be based on the padded
BTF: use the result, or the file of --btf-out, as its base. A .BTF.inline in a loaded segment must
be replaced together with .BTF, and is padded too.

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
# all modules of a kernel, with the BTF from "btfgen modules -o btf"
btfdedup embed -o out --btf btf --resolve-ids --base vmlinux.btf linux
# for the last link of vmlinux
btfdedup embed --object -o vmlinux.btf.o --btf vmlinux.btf .tmp_vmlinux1`,
	}, cli.Output|cli.Base|cli.Report)
	var r embedRun
	flags.InputVar(&r.types, "btf", "the raw BTF to embed: a `FILE` from btfdedup link, or a directory"+
		" from btfgen modules")
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
		"also write the embedded BTF to `FILE`")
	flags.OutputVar(&r.inlineOut, "inline-out",
		"with --inline: also write the embedded BTF of inlined functions to `FILE`")
	flags.BoolVar(&r.fatal, "fatal-warnings", false, "with --resolve-ids: treat warnings as errors")
	flags.InputVar(&r.order, "order",
		"of the modules in directories, read only those listed in `FILE`, Kbuild's modules.order")
	flags.BoolVar(&r.object, "object", false, "write an object file to be linked into vmlinux")
	return flags.Command(r.run)
}

type embedRun struct {
	types, base, typesOut  string
	inline, inlineOut      string
	oldBase, order         string
	dropSignature, resolve bool
	object, fatal          bool

	// For all inputs, these are called once: to read the bases, to read the base of the old BTF, and
	// to warn if there are several bases.
	readBases, readOld resolveids.Base
	warnOfChain        func()
}

// job is a file to copy, and the files that are read and written for the copy.
type job struct {
	in, out           string
	types, typesOut   string
	inline, inlineOut string

	data  []byte // the embedded BTF
	doubt string // why the base may be the wrong one; "" if nothing says so
}

func (r *embedRun) check(env *cli.Env, args []string, many bool) error {
	switch {
	case r.types == "":
		return cli.Usagef("--btf FILE is missing")
	case r.object && (r.base != "" || r.dropSignature || r.resolve):
		return cli.Usagef("--object is for vmlinux; --btf-base, --drop-signature and --resolve-ids " +
			"are for modules")
	case r.object && (r.inline != "" || r.typesOut != ""):
		return cli.Usagef("--object can't be used together with --inline or --btf-out")
	case many && (r.object || r.base != ""):
		return cli.Usagef("--object and --btf-base are for one file, but --btf is the directory %s",
			r.types)
	case !many && r.order != "":
		return cli.Usagef("--order needs a directory as --btf")
	case !many && len(args) > 1:
		return cli.Usagef("%d inputs: --btf must be a directory that has the BTF of each of them",
			len(args))
	case !r.resolve && (r.oldBase != "" || r.fatal):
		return cli.Usagef("--old-base and --fatal-warnings need --resolve-ids")
	case r.inline == "" && r.inlineOut != "":
		return cli.Usagef("--inline-out needs --inline")
	case !r.resolve && r.inline == "" && len(env.Bases) > 0:
		return cli.Usagef("--base needs --resolve-ids or --inline")
	case r.base != "" && len(env.Bases) > 0:
		return cli.Usagef("--btf-base and --base can't be used together: the ids in .BTF_ids belong " +
			"to the distilled base, and the kernel translates them")
	}
	return nil
}

func (r *embedRun) run(env *cli.Env, args []string) error {
	many := isDirectory(r.types)
	if !many { // an input that can't be read is the first error
		f, err := batch.Open(args[0])
		if err != nil {
			return err
		}
		f.Close()
	}
	if err := r.check(env, args, many); err != nil {
		return err
	}
	r.readBases = sync.OnceValues(func() (*btf.Blob, error) { return relocate.ReadBases(env.Bases) })
	r.readOld = sync.OnceValues(func() (*btf.Blob, error) {
		return readOldBase(r.oldBase, r.readBases)()
	})
	r.warnOfChain = sync.OnceFunc(func() { warnOfChain(env) })
	if many {
		return r.runMany(env, args)
	}
	run := report.Start(env, args)
	defer run.Close()
	run.Made(env.Output)
	j := &job{in: args[0], out: env.Output, types: r.types, typesOut: r.typesOut, inline: r.inline,
		inlineOut: r.inlineOut}
	err := r.embed(env, j, run.Finish)
	if j.doubt != "" {
		env.Warn("%s: %s", j.in, j.doubt)
	}
	return err
}

// embed makes a copy of one file, with its BTF. The function write writes the outputs.
func (r *embedRun) embed(env *cli.Env, j *job, write func(...cli.Artifact) error) error {
	f, err := batch.Open(j.in)
	if err != nil {
		return err
	}
	defer f.Close()
	types, err := embed.ReadBlob(j.types)
	if err != nil {
		return err
	}
	if r.object {
		data, err := embed.ObjectFile(f, types)
		if err != nil {
			return err
		}
		return write(cli.Artifact{Path: j.out, File: cli.Bytes(data)})
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
	inline, err := r.readInline(j, f, types)
	if err != nil {
		return err
	}
	put := payload{types, base, inline.onTypes()}
	var made embedded
	if r.resolve {
		made, err = r.intoWithIDs(env, j, f, put)
	} else {
		made, err = put.into(f)
	}
	if err == nil {
		err = inline.add(f, &made)
	}
	if err != nil {
		return err
	}
	if !r.resolve {
		r.warnOfIDs(env, f, types)
	}
	j.data = made.data
	outputs := []cli.Artifact{{Path: j.out, File: made.edit.Write}}
	if j.typesOut != "" {
		outputs = append(outputs, cli.Artifact{Path: j.typesOut, File: cli.Bytes(made.data)})
	}
	if j.inlineOut != "" {
		outputs = append(outputs, cli.Artifact{Path: j.inlineOut, File: cli.Bytes(inline.Data)})
	}
	return write(outputs...)
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

// payload is what is put into a file.
type payload struct {
	types, base *embed.Blob // base is a distilled base or nil
	sites       *btf.Blob   // based on types, or nil
}

// embedded is a file with BTF in it.
type embedded struct {
	edit  *elfwrite.Edit
	data  []byte    // the BTF in the file
	sites *btf.Blob // those of the payload, based on the BTF before it was padded; not in the file
}

func (p payload) into(f *elf.File) (made embedded, err error) {
	made.sites = p.sites
	made.edit, made.data, err = embed.Into(f, p.types, p.base)
	return made, err
}

// intoWithIDs puts BTF and the ids for .BTF_ids into f.
func (r *embedRun) intoWithIDs(env *cli.Env, j *job, f *elf.File, put payload) (made embedded,
	err error) {
	ids, err := resolveids.Find(f, r.readOld)
	if err != nil {
		return made, err
	}
	below := r.readBases
	if put.base != nil {
		below = func() (*btf.Blob, error) { return put.base.Parse(nil) }
	} else if len(env.Bases) > 0 {
		if err := r.checkBases(env, j, f, put.types); err != nil {
			return made, err
		}
	}
	if ids == nil {
		return put.into(f)
	}
	on, err := below()
	if err != nil {
		return made, err
	}
	path := put.types.Path
	b, err := readOn(put.types, on)
	if err != nil {
		return made, err
	}
	t, err := ids.Explicit(resolveids.Types{Data: put.types.Data, BTF: b, Sites: put.sites}, path,
		env.Jobs)
	if err != nil {
		return made, err
	}
	if put.types, err = embed.NewBlob(path, t.Data); err != nil {
		return made, err
	}
	put.sites = t.Sites
	if made, err = put.into(f); err != nil {
		return made, err
	}
	return made, setIDs(env, ids, made.edit, t.BTF, path, r.fatal)
}

// checkBases checks that f and the BTF types belong to the bases.
func (r *embedRun) checkBases(env *cli.Env, j *job, f *elf.File, types *embed.Blob) error {
	on, err := r.readBases()
	if err != nil {
		return err
	}
	if j.doubt, err = checkBase(f, on); err != nil {
		return err
	}
	b, err := readOn(types, on)
	if err != nil {
		return err
	}
	if f.IsModule() {
		r.warnOfChain()
	}
	return warnOfForeign(env, f, b, types.Path)
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
