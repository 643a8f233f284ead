package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/implicitargs"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

type resolveIDs struct {
	types, oldBase      string
	typesOut, inlineOut string
	fatal               bool
}

func resolveIDsCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "resolve-ids ELF",
		Short: "Fill in the type ids in the section .BTF_ids of a kernel or module",
		Long: `
Writes a copy of the ELF file with type ids in .BTF_ids, and with sorted sets, as the kernel's
resolve_btfids does. The ids come from the BTF of --btf, or else from the file's own .BTF section.
That BTF is based on the file's .BTF.base section, or else on --base. A file without .BTF_ids is
copied unchanged.

A name that the BTF doesn't have gets the id 0. A name that the BTF has several times gets the id of
the first. Either case gives a warning, or with --fatal-warnings an error.

Since Linux 7.0 kfuncs may have implicit arguments, which BTF must not show. For such a kfunc foo,
--btf-out writes BTF with two functions, foo and foo_impl, as resolve_btfids does, and the ids come
from that BTF.

If the BTF also has the sites where functions were inlined (the feature inline), --inline-out moves
them to a separate file, as resolve_btfids --inline of Linux 7.4 does. The file is split BTF that is
based on the output of --btf-out. If there are no sites, an old file with this name is removed.

A file with resolved ids can be resolved again. If not all kfuncs of a set8 have the same flags, the
command needs the file's old .BTF to find out which kfunc each flag belongs to. That BTF is based on
--old-base, or else on --base.`,
		Example: `
btfdedup resolve-ids -o vmlinux --btf vmlinux.btf vmlinux.unresolved
# Linux 7.0 or later: kfuncs with implicit arguments
btfdedup resolve-ids -o vmlinux --btf linked.btf --btf-out vmlinux.btf vmlinux.unresolved
# Linux 7.4 or later: all.btf also has the sites of inlined functions
btfdedup resolve-ids -o vmlinux --btf all.btf --btf-out v.btf --inline-out v.inline.btf in.vmlinux
# a module's BTF is based on the kernel's
btfdedup resolve-ids -o module.ko --btf module.btf --base vmlinux.btf unresolved.ko`,
	}, cli.Output|cli.Base|cli.Report)
	var r resolveIDs
	flags.InputVar(&r.types, "btf", "the `FILE` whose BTF supplies the ids: raw BTF or an ELF file")
	flags.InputVar(&r.oldBase, "old-base",
		"the BTF `FILE` on which the old .BTF is based, if the ids are already resolved")
	flags.OutputVar(&r.typesOut, "btf-out",
		"write the BTF without implicit arguments of kfuncs to `FILE`")
	flags.OutputVar(&r.inlineOut, "inline-out",
		"with --btf-out: move the sites of inlined functions to `FILE`")
	flags.BoolVar(&r.fatal, "fatal-warnings", false, "treat warnings as errors")
	return flags.Command(func(env *cli.Env, args []string) error { return r.run(env, args[0]) })
}

func (r *resolveIDs) run(env *cli.Env, path string) error {
	if r.inlineOut != "" && r.typesOut == "" {
		return cli.Usagef("--inline-out needs --btf-out, a file for the BTF on which the sites are based")
	}
	run := report.Start(env, []string{path})
	defer run.Close()
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return err
	}
	doubt, err := checkBase(f, base)
	if err != nil {
		return err
	}
	if doubt != "" {
		env.Warn("%s: %s", path, doubt)
	}
	section, err := resolveids.Find(f,
		readOldBase(r.oldBase, func() (*btf.Blob, error) { return base, nil }))
	if err != nil {
		return err
	}
	var made resolved
	if section != nil || r.typesOut != "" {
		if made, err = r.resolve(env, f, section, base); err != nil {
			return err
		}
	}
	parts, err := btfids.Patch(f, made.ids)
	if err != nil {
		return err
	}
	outputs := []cli.Artifact{{Path: env.Output, File: cli.Bytes(parts...)}}
	if r.typesOut != "" {
		outputs = append(outputs, cli.Artifact{Path: r.typesOut, File: cli.Bytes(made.types)})
	}
	if made.sites != nil {
		outputs = append(outputs, cli.Artifact{Path: r.inlineOut, File: cli.Bytes(made.sites)})
	}
	if err := run.Finish(outputs...); err != nil || made.sites != nil || r.inlineOut == "" {
		return err
	}
	return removeOld(r.inlineOut)
}

// removeOld removes a file, if it exists, that this run would have written if there were sites.
func removeOld(path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return os.Remove(path)
}

// resolved has the contents of the outputs.
type resolved struct {
	ids          []byte // the section .BTF_ids; may be nil
	types, sites []byte // nil if they aren't written
}

// checkBase returns an error if base is for a different machine than f. If it may be for a
// different kernel, checkBase says why; otherwise doubt is "".
func checkBase(f *elf.File, base *btf.Blob) (doubt string, err error) {
	own := btf.OriginOf(f)
	if err := relocate.ForTarget(f.Path, own, base); err != nil || f.Section(btf.SectionBase) != nil {
		return "", err
	}
	return relocate.Doubt(own, base), nil
}

// readOldBase returns a function that reads the file of --old-base. The function calls base if the
// flag is not given (path is ""), or if emptyFile is true for the file.
func readOldBase(path string, base resolveids.Base) resolveids.Base {
	if path == "" || emptyFile(path) {
		return base
	}
	return func() (*btf.Blob, error) { return btf.ReadOne(path, nil) }
}

// emptyFile reports whether a file is empty, as "btfdedup import --for-old-base" writes it for a
// vmlinux without BTF.
func emptyFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// resolve returns the new content of the section, which may be nil. With --btf-out, it also returns
// the new BTF.
func (r *resolveIDs) resolve(env *cli.Env, f *elf.File, section *resolveids.IDs,
	base *btf.Blob) (made resolved, err error) {
	b, err := r.read(f, base)
	if err != nil {
		return made, err
	}
	if r.typesOut != "" {
		if made.types, made.sites, err = r.rewrite(env, f, section, b); err == nil {
			b, err = btf.Parse(made.types, b.Base)
		}
		if err != nil {
			return made, fmt.Errorf("%s: %w", r.typesFile(f), err)
		}
	}
	if section == nil {
		return made, nil
	}
	ids, warnings, err := section.Resolve(b, r.typesFile(f))
	if err != nil {
		return made, err
	}
	made.ids = ids
	return made, warnOf(env, f.Path, warnings, r.fatal)
}

// rewrite returns the BTF for --btf-out, and that for --inline-out, if there are sites.
func (r *resolveIDs) rewrite(env *cli.Env, f *elf.File, section *resolveids.IDs,
	b *btf.Blob) (types, sites []byte, err error) {
	if r.inlineOut == "" {
		types, err = implicitargs.Rewrite(b, section.ImplicitKfuncs(), env.Jobs)
		return types, nil, err
	}
	outlined, err := section.Outlined(f)
	if err != nil {
		return nil, nil, err
	}
	return implicitargs.RewriteApart(b, section.ImplicitKfuncs(), outlined, env.Jobs)
}

// warnOf prints warnings about a file's ids; if fatal is set, it returns an error instead.
func warnOf(env *cli.Env, path string, warnings []string, fatal bool) error {
	if fatal && len(warnings) > 0 {
		return fmt.Errorf("%s: %s (%d such warnings, which are errors with --fatal-warnings)",
			path, warnings[0], len(warnings))
	}
	for _, w := range warnings {
		env.Warn("%s: %s", path, w)
	}
	return nil
}

// typesFile returns the path of the file that contains the BTF.
func (r *resolveIDs) typesFile(f *elf.File) string {
	if r.types != "" {
		return r.types
	}
	return f.Path
}

// read reads the BTF whose type ids are written into the section.
func (r *resolveIDs) read(f *elf.File, base *btf.Blob) (*btf.Blob, error) {
	if r.types != "" {
		return relocate.ReadOne(r.types, base)
	}
	b, err := resolveids.OwnTypes(f, base)
	if err != nil {
		return nil, fmt.Errorf("%w; or specify the BTF with --btf", err)
	}
	return b, nil
}
