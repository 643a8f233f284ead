package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/inspect/shared"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
	"github.com/rules-btf/rules_btf/internal/link/base"
)

func sharedCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "shared BTF|DIR...",
		Short: "Make a base with the types that repeat across modules",
		Long: `
Writes split BTF with the types that two or more modules have, and the types that these refer to.
The output is based on the kernel's BTF. To store each such type once, link the modules again, with
the kernel's BTF and the output as bases:

    btfdedup shared --base vmlinux.btf -o shared.btf modules
    btfgen modules --base vmlinux.btf --base shared.btf -o small kernel/*.ko

This is for archives of BTF, and for tools that read chains of bases. The kernel can't load such
modules: it requires BTF that is based on vmlinux alone.

Types are compared as in a link, with forward declarations resolved. If modules define a struct,
union or enum differently, each definition that at least two modules have is shared. But if any
module only declares that type, none of its definitions is shared. Functions, variables, sections
and declaration tags stay in the modules. The result depends on the set of inputs, not on their
order.

BTF is the split BTF of a module, or an ELF file with a .BTF section. For a directory, all files
*.btf below it are read, except the bases. "btfdedup stats" shows what a shared base would save.`,
		Example: `
btfdedup shared --base vmlinux.btf -o shared.btf @modules.params
# all modules in a directory
btfdedup shared --base vmlinux.btf -o shared.btf modules`,
	}, cli.Output|cli.Base|cli.Report)
	return flags.Command(runShared)
}

func runShared(env *cli.Env, args []string) error {
	run := report.Start(env, args)
	defer run.Close()
	bases, set, err := readModules(env, run, args)
	if err != nil {
		return err
	}
	defer bases.Close()
	data, err := set.Write(bases.Base, env.Jobs)
	if err != nil {
		return err
	}
	return run.Write(data)
}

// readModules reads the BTF of modules and of their bases, as a phase of the run.
func readModules(env *cli.Env, run *report.Run, args []string) (*base.Files, *shared.Set, error) {
	if len(env.Bases) == 0 {
		return nil, nil, cli.Usagef("--base FILE is missing: the BTF that the modules are based on")
	}
	files, err := splitFiles(args, env.Bases)
	if err != nil {
		return nil, nil, err
	}
	bases, err := base.Open(env.Bases)
	if err != nil {
		return nil, nil, err
	}
	if bases.Index != "" {
		bases.Close()
		return nil, nil, fmt.Errorf("%s: this is an index; pass the BTF from which it was "+
			"made", bases.Index)
	}
	phase := run.Phase("read", "modules")
	set, err := shared.Read(files, bases.BTF, env.Jobs, phase.Progress)
	if err != nil {
		bases.Close()
		return nil, nil, err
	}
	run.EndModules(phase, len(files))
	return bases, set, nil
}

// splitFiles returns the files that the arguments name, in order. A directory means all files
// *.btf below it, except for the bases and for sites of inlined functions. No two files may be the
// same module.
func splitFiles(args, bases []string) ([]string, error) {
	var files []string
	isBase := func(path string) bool {
		return slices.ContainsFunc(bases, func(base string) bool { return sameFile(path, base) })
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() { // a missing file is an error when it is read
			files = append(files, arg)
			continue
		}
		rels, err := archive.Below(arg, func(rel string) bool {
			return strings.HasSuffix(rel, ".btf") && !isBase(filepath.Join(arg, rel)) &&
				archive.SitesOf(archive.Name(rel)) == ""
		})
		if err != nil {
			return nil, err
		}
		if len(rels) == 0 {
			return nil, fmt.Errorf("%s: there is no file *.btf in this directory", arg)
		}
		for _, rel := range rels {
			files = append(files, filepath.Join(arg, rel))
		}
	}
	byName := map[string]string{}
	for _, path := range files {
		name := archive.Name(path)
		if other, ok := byName[name]; ok {
			return nil, fmt.Errorf("%s and %s: both are the module %s; pass each module of one kernel "+
				"once", other, path, name)
		}
		byName[name] = path
	}
	return files, nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
