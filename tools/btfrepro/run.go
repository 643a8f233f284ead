package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/repro/twobuilds"
)

func runCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "run TARGET...",
		Short: "Build targets twice, in different environments, and compare",
		Long: `
Builds the targets twice, and compares the logs as "btfrepro diff" does. The second build runs in a
copy of the workspace, with a different directory, output base, HOME, USER, locale, time zone, umask
and number of jobs. Both builds start from nothing: they have new output bases and no disk cache,
and neither read nor write a remote cache. The arguments after -- are passed to bazel build. The
command is that in the variable BAZEL, or else bazelisk, bazel, or bazelw in the workspace.

All outputs are below --scratch. They are removed at the end, even after an interrupt, and the Bazel
servers are shut down. The workspace doesn't change, except for files that any build changes
(MODULE.bazel.lock).

Exit codes: the same as for "btfrepro diff", and 1 if a build fails.`,
		Example: `
btfrepro run --workspace=kernel --json=report.json -- //:vmlinux_btf
# a workspace that refers to files in its directory ../..
btfrepro run --workspace=kernel/examples/hello --copy-root=kernel -- --config=ci //...`,
	}, 0)
	flags.NoStdin = "the arguments are passed to Bazel"
	var r reportFlags
	r.define(flags)
	opt := twobuilds.Options{Bazel: os.Getenv("BAZEL")}
	flags.StringVar(&opt.Workspace, "workspace", ".", "the root `DIR` of the workspace")
	flags.InputVar(&opt.CopyRoot, "copy-root",
		"copy `DIR`, which contains the workspace and other files that the workspace needs")
	flags.OutputDirVarP(&opt.Scratch, "scratch", "", "a `DIR` with space for two output bases")
	return flags.Command(func(env *cli.Env, args []string) error {
		opt.Args, opt.Out = args, env.Stderr
		return runBuilds(env, opt, &r)
	})
}

func runBuilds(env *cli.Env, opt twobuilds.Options, r *reportFlags) (err error) {
	if _, err := cli.ReadAllowed(&r.allow, repro.ParseAllowance); err != nil {
		return err // already before the builds
	}
	builds, err := twobuilds.New(opt)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(env.Stderr, env.Program+": "+format+"\n", args...)
	}
	cli.AtSignal(func() {
		say("interrupted: ending Bazel and removing the builds' files")
		builds.Close()
	})
	defer func() {
		// After an interrupt, this doesn't return: the process ends.
		say("removing the files of the builds")
		if e := builds.Close(); e != nil && err == nil {
			err = e
		}
		cli.AtSignal(func() {})
	}()
	say("what differs between the builds, A vs B:")
	for _, line := range builds.Varied() {
		say("  %s", line)
	}
	say("copying %s", builds.Root)
	if err := builds.Copy(); err != nil {
		return err
	}
	for i, name := range []string{"A", "B"} {
		say("build %s, %d of 2, from nothing", name, i+1)
		began := time.Now()
		if err := builds.Build(i); err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
		say("build %s took %.0f s", name, time.Since(began).Seconds())
	}
	say("comparing")
	return r.run(env, builds.Logs, [2]string{"A.log", "B.log"},
		[2]string{builds.ExecRoot(0), builds.ExecRoot(1)})
}
