package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

func linkCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "link FILE...",
		Short: "Make the final BTF of a kernel or module from BTF objects",
		Long: `
Writes the final BTF in canonical order: it has each type once, forward declarations are resolved,
and functions and variables are selected. The result depends on the set of inputs, the facts and the
bases, not on the order or grouping of the inputs. Linking a result again gives the same bytes.

FILE is a BTF object (.btfo) from "btfgen object" or "btfdedup merge", raw BTF, or an ELF file with
a .BTF section. Without --facts, all functions in BTF objects are encoded under their own names, but
no variables are encoded; raw BTF keeps its functions and variables.

With --base the result is split BTF, with only what the bases lack. --distilled-base also writes a
distilled base. If other builds of the kernel may load the module, put the result in .BTF and the
distilled base in .BTF.base. --distilled-base requires objects with the feature distilled_base.

If the BTF objects have the feature global_var, --variables selects which variables are encoded.
--variables=percpu selects only per-CPU variables, as without that feature. --variables=extra
selects all others, and the output is split BTF: first link the same files with --variables=percpu,
and pass the result as the last --base.

--skipped lists the functions and variables that are not encoded. Each line has the name, a tab, and
the reason.

With --facts, compilation units that aren't in the linked file, such as unused members of a library,
are left out; --verbose names some of them. A unit whose functions are all static may belong to a
different file, such as a module, or ld --gc-sections may have dropped it. Leaving out such a unit
gives a warning, or with --strict an error.`,
		Example: `
btfdedup link -o vmlinux.btf --facts vmlinux.facts --skipped skipped.txt @objects.params
# a module's BTF is based on the kernel's
btfdedup link -o module.btf --base vmlinux.btf --facts module.facts module.btfo
# for the sections .BTF and .BTF.base of an external module
btfdedup link -o module.btf --distilled-base module.base.btf --base vmlinux.btf module.btfo
# with the feature global_var: first BTF with only the per-CPU variables, then split BTF with all
# other variables
btfdedup link -o vmlinux.btf --variables=percpu --facts f @objects.params
btfdedup link -o extra.btf --variables=extra --base vmlinux.btf --facts f @objects.params`,
	}, cli.Output|cli.Base|cli.Skipped|cli.DistilledBase|cli.Report)
	var r linkRun
	flags.InputVar(&r.facts, "facts",
		"the `FILE` that btfgen facts wrote for the linked file")
	conversion.VariablesVar(flags, &r.which)
	flags.BoolVar(&r.strict, "strict", false,
		"fail if a unit whose functions are all static isn't in the linked file")
	return flags.Command(r.run)
}

type linkRun struct {
	facts  string // a file; "" for none
	which  link.Which
	strict bool
}

func (r *linkRun) run(env *cli.Env, files []string) error {
	run := report.Start(env, files)
	defer run.Close()
	opt := link.Options{Jobs: env.Jobs, Variables: r.which, FactsPath: r.facts}
	bases, err := openBases(env)
	if err != nil {
		return err
	}
	defer bases.Close()
	opt.Base, opt.BasePath = bases.Base, bases.Path
	var o *object.Object
	var errs [2]error
	parallel.All(env.Jobs, func() {
		if r.facts == "" {
			return
		}
		run.FindingFacts()
		if opt.Facts, errs[0] = readFacts(r.facts); errs[0] == nil {
			run.FoundFacts(opt.Facts)
		}
	}, func() { o, errs[1] = readAll(env, run, files, bases.Last) })
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if o.Features.Has(features.DistilledBase) && bases.Base != nil && env.DistilledBase == "" {
		return cli.Usagef("the objects were made with the feature %v: add"+
			" --distilled-base=FILE, a file to write the base to", features.DistilledBase)
	}
	if err := conversion.CheckVariables(env, r.which, o.Features, r.facts != ""); err != nil {
		return err
	}
	opt.Features, opt.Step = o.Features, run.Linking()
	result, err := link.Link([]*object.Object{o}, opt)
	if err != nil {
		return fmt.Errorf("%s: %w", someOf(files), err)
	}
	if err := run.Linked(result, bases.Last); err != nil {
		return err
	}
	if err := pipeline.CheckTypes(someOf(files), result.BTF, bases.Base == nil, nil,
		nil); err != nil {
		return err
	}
	if result.Loss != "" {
		env.Warn("%s: %s", someOf(files), result.Loss)
	}
	doubt := result.Doubt
	if r.which != link.Extra {
		doubt = cmp.Or(doubt, pipeline.OwnBase(result.BTF, bases.Last))
	}
	if doubt != "" {
		env.Warn("%s: %s", someOf(files), doubt)
	}
	if err := r.tellAbsent(env, &result.Absent); err != nil {
		return err
	}
	bases.Close() // before anything is written: Close fails if an index was truncated meanwhile
	return run.WriteLinked(result, bases.Last)
}

// toldFiles is the maximum number of source files that the message lists.
const toldFiles = 5

// tellAbsent warns about units that aren't in the linked file. With --strict, it returns an error
// instead.
func (r *linkRun) tellAbsent(env *cli.Env, a *symbols.LeftOut) error {
	if a.Units == 0 || r.which == link.Extra {
		return nil // the link with --variables=percpu has warned
	}
	units := "1 compilation unit is left out, as none of its functions is"
	if a.Units > 1 {
		units = fmt.Sprintf("%d compilation units are left out, as none of their functions is", a.Units)
	}
	files := strings.Join(a.Files[:min(len(a.Files), toldFiles)], ", ")
	if len(a.Files) > toldFiles {
		files += ", ..."
	}
	text := fmt.Sprintf("%s: %s in the linked file, according to that file's symbols: %s "+
		"(don't pass objects of other files, such as modules)", r.facts, units, files)
	if r.strict {
		return errors.New(text)
	}
	env.Warn("%s", text)
	return nil
}

// openBases reads the bases of a link. To make a distilled base, it also reads the bases' BTF,
// because an index isn't enough.
func openBases(env *cli.Env) (*base.Files, error) {
	bases, err := base.Open(env.Bases)
	if err == nil && env.DistilledBase != "" {
		_, err = bases.Whole("--distilled-base")
	}
	return bases, err
}

func readFacts(path string) (*facts.Facts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := facts.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}
