package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/typediff"
)

func diffCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "diff A.log B.log",
		Short: "Compare two execution logs",
		Long: `
Reads two logs from bazel build --execution_log_compact_file=FILE, and gives each action a verdict:

    same               the same key and the same outputs
    non-deterministic  the same key, but different outputs
    key changed        a different argument, variable, platform, tool, input or param file
    downstream         the key changed, but only because outputs of other actions changed
    cut-off            the key changed, but the outputs did not
    only in A, only in B

Prints the causes (where differences begin), the actions that differ, and the number of actions with
each verdict. A log doesn't contain actions that were up to date, so build with a
fresh output base. Also build without a cache: a result from a cache doesn't show whether the action
is reproducible.

A comparison that compares nothing is an error: if no action is in both logs, or if the results of
all actions came from a cache.

Exit codes: 0 if all actions are the same or allowed to differ; 1 if some differ (the report is on
stdout), if nothing was compared, or if a log can't be read (one line on stderr); 2 for wrong
usage.`,
		Example: `
btfrepro diff a.log b.log
btfrepro diff --json=report.json a.log b.log
btfrepro diff --mnemonic=BtfGen,BtfLink --allow-file=expected.txt a.log b.log
# also show the types that differ
btfrepro diff --a-dir=/ci/a/bazel-out --b-dir=/ci/b/bazel-out a.log b.log`,
	}, 0)
	var r reportFlags
	r.define(flags)
	var dirs [2]string
	flags.InputVar(&dirs[0], "a-dir",
		"the execution root of A, or its bazel-out `DIR`; with --b-dir, compare types in .btf files")
	flags.InputVar(&dirs[1], "b-dir", "the execution root of B, or its bazel-out `DIR`")
	return flags.Command(func(env *cli.Env, args []string) error {
		if (dirs[0] == "") != (dirs[1] == "") {
			return cli.Usagef("--a-dir and --b-dir must be given together")
		}
		if a, err := os.Stat(args[0]); err == nil {
			if b, err := os.Stat(args[1]); err == nil && os.SameFile(a, b) {
				return cli.Usagef("%s and %s are the same file; pass the logs of two builds", args[0], args[1])
			}
		}
		return r.run(env, [2]string(args), [2]string(args), dirs)
	})
}

// reportFlags are the flags that say what to compare and what to report.
type reportFlags struct {
	mnemonics []string
	allow     cli.Allow
	json      string
	all       bool
}

func (r *reportFlags) define(flags *cli.FlagSet) {
	flags.StringSliceVar(&r.mnemonics, "mnemonic", nil,
		"report only actions with these `mnemonics`")
	flags.AllowVar(&r.allow, "allow an expected difference: `PATTERNS` that match the action, "+
		"followed by the reason, such as 'label=//docs/... output=*/stamp.txt # the time'")
	flags.OutputVar(&r.json, "json",
		"write the report as JSON to `FILE`; - means standard output, in place of the text")
	flags.BoolVar(&r.all, "all", false,
		"also list actions that differ only because other actions do, or that are allowed to differ")
}

// run compares two logs; the report uses the given names for them. The parameter dirs has, for each
// build, the directory with the outputs, or "" if it is unknown.
func (r *reportFlags) run(env *cli.Env, files, names, dirs [2]string) error {
	allow, err := cli.ReadAllowed(&r.allow, repro.ParseAllowance)
	if err != nil {
		return err
	}
	var logs [2]*execlog.Log
	for i, file := range files {
		if logs[i], err = execlog.ReadFile(file); err != nil {
			return err
		}
	}
	report, err := repro.Compare(logs[0], logs[1],
		repro.Options{Mnemonics: r.mnemonics, Allow: allow})
	if err != nil {
		return err
	}
	if err := r.check(report, names); err != nil {
		return err
	}
	if dirs[0] != "" && dirs[1] != "" {
		typediff.Add(report, typediff.Build{Log: logs[0], Dir: dirs[0]},
			typediff.Build{Log: logs[1], Dir: dirs[1]})
	}
	if err := r.write(env, report, names); err != nil {
		return err
	}
	switch differ, _ := report.Differing(); {
	case differ > 0:
		return cli.ErrNo
	case report.Cached == len(report.Listed):
		return fmt.Errorf("nothing was compared: the results of all actions (%d) came from a cache; "+
			"build without a cache (--disk_cache= --remote_cache=)", report.Cached)
	}
	return nil
}

// check returns an error if there is nothing to compare: such a comparison would always pass.
// Rule: two builds: comparing nothing is an error.
func (r *reportFlags) check(report *repro.Report, names [2]string) error {
	for _, m := range r.mnemonics {
		if !slices.ContainsFunc(report.Listed, func(i int) bool {
			return report.Actions[i].Mnemonic == m
		}) {
			return fmt.Errorf("no action in the logs has the mnemonic %s; without "+
				"--mnemonic, all are compared", m)
		}
	}
	onlyA, onlyB := report.Counts[repro.OnlyA], report.Counts[repro.OnlyB]
	switch {
	case len(report.Actions) == 0:
		return fmt.Errorf("neither %s nor %s has an action, because all actions were up to date; "+
			"build with a new output base, or after bazel clean", names[0], names[1])
	case onlyA+onlyB == len(report.Listed):
		return fmt.Errorf("no action to compare is in both logs (%s has %d, %s has %d); build the same "+
			"targets with the same flags, each time with a new output base", names[0], onlyA, names[1],
			onlyB)
	}
	return nil
}

func (r *reportFlags) write(env *cli.Env, report *repro.Report, names [2]string) error {
	for i := range report.Allowances {
		if a := &report.Allowances[i]; a.Matched == 0 {
			env.Warn("an entry of --allow or --allow-file matches nothing: %s", a.String())
		}
	}
	if r.json != "" {
		err := env.WriteOutput(r.json, func(w io.Writer) error {
			return writeJSON(w, report, names[0], names[1])
		})
		if err != nil {
			return err
		}
	}
	if r.json == "-" {
		return nil
	}
	return writeText(env.Stdout, report, r.all)
}
