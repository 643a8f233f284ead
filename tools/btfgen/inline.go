package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

func inlineCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "inline ELF",
		Short: "Make the BTF of the sites at which functions were inlined",
		Long: `
Reads the DWARF of vmlinux or a module, and writes a list of sites: the addresses at which functions
were inlined. For each site, the list says in which registers or where in memory the function's
parameters are. The output is split BTF, which Linux 7.4 and later read (vmlinux.inline).

The last --base must be the BTF of the same file, from "btfgen elf". If this base has a function
with the same name and prototype, the sites refer to it. The output has all other functions, and the
types that they need.

--skipped counts the parameters whose location isn't known, and the sites that are left out. Each
line has a number, what was counted, a tab, and the reason.`,
		Example: `
btfgen inline --lang-exclude=rust --base vmlinux.btf -o vmlinux.inline.btf vmlinux
btfgen inline --base vmlinux.btf --base mod.btf -o mod.inline.btf mod.ko`,
	}, cli.Output|cli.Base|cli.Features|cli.Skipped|cli.Report)
	var c conversion.Flags
	c.DefineDWARF(flags)
	return flags.Command(func(env *cli.Env, args []string) error {
		return runInline(env, &c, args[0])
	})
}

func runInline(env *cli.Env, c *conversion.Flags, path string) error {
	if len(env.Bases) == 0 {
		return cli.Usagef("--base is missing: pass the BTF of the file, after its own bases")
	}
	if err := conversion.CheckInline(env); err != nil {
		return err
	}
	pipeline.RelaxHeap([]string{path})
	defer c.SplitDWARF.Close()
	run := report.Start(env, []string{path})
	defer run.Close()
	how := pipeline.How{Files: c.Search(env), Convert: c.Options(env), Watch: run, Alone: true}
	result, err := pipeline.Inlined(path, &how, func() (err error) {
		if how.Bases, err = base.Open(env.Bases); err != nil {
			return err
		}
		if len(env.Bases) == 1 && elf.IsModule(path) {
			return fmt.Errorf("%s: the sites of a module must be based on the module's own BTF: pass that "+
				"BTF as the last --base, after %s", path, env.Bases[0])
		}
		whole, err := how.Bases.Whole("this verb")
		if err != nil {
			return err
		}
		return checkOwn(path, env.Bases[len(env.Bases)-1], whole.BTF)
	})
	if how.Bases != nil {
		defer how.Bases.Close()
	}
	if err != nil {
		return err
	}
	if result.Doubt != "" {
		env.Warn("%s: %s", path, result.Doubt)
	}
	n := result.Counts
	text := fmt.Sprintf("%s; the locations of %d of %s are known", message.Count(n.Sites, "site"),
		n.Known, message.Count(n.Parameters, "parameter"))
	run.EndLink(text)
	run.Made(text)
	outputs := []cli.Artifact{{Path: env.Output, File: cli.Bytes(result.BTF)}}
	if env.Skipped != "" {
		outputs = append(outputs, cli.Artifact{Path: env.Skipped,
			File: result.Lost.Write})
	}
	return run.Finish(outputs...)
}

// checkOwn returns an error if own, the BTF in the file at base, is certainly not that of the
// module at path.
func checkOwn(path, base string, own *btf.Blob) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !f.IsModule() {
		return nil
	}
	if n, err := loader.Foreign(f, own); err != nil || n == 0 {
		return err
	}
	return fmt.Errorf("%s: it has none of the functions that %s describes: the last --base must be "+
		"the BTF of the same file", path, base)
}
