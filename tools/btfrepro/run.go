package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/repro/twobuilds"
)

func runCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "run TARGET...",
		Short: "Build targets twice, in different environments, and compare",
		Long: `
Builds the targets twice, and compares the logs as "btfrepro diff" does. The second build is in a
copy of the workspace, with another directory, output base, HOME, USER, locale, time zone, umask and
number of jobs. Both start from nothing: new output bases, no disk cache, no reads or writes of a
remote cache. The arguments after -- are passed to bazel build.

All outputs are below --scratch, and are removed at the end, even after an interrupt; the Bazel
servers are shut down. In the workspace only files change that any build changes
(MODULE.bazel.lock).

Exit codes: those of "btfrepro diff", and 1 if a build fails.`,
		Example: `
btfrepro run --workspace=kernel --html=report.html -- //:vmlinux_btf
# a workspace that refers to ../.. of itself
btfrepro run --workspace=kernel/examples/hello --copy-root=kernel -- --config=ci //...`,
	}, 0)
	flags.NoStdin = "arguments are Bazel's"
	var r reportFlags
	r.define(flags)
	var opt twobuilds.Options
	var keep string
	flags.StringVar(&opt.Bazel, "bazel", os.Getenv("BAZEL"),
		"the `COMMAND` to run; the default is bazelisk, bazel, or bazelw in the workspace")
	flags.Lookup("bazel").DefValue = ""
	flags.StringVar(&opt.Workspace, "workspace", ".", "the workspace: a `DIR` in it")
	flags.InputVar(&opt.CopyRoot, "copy-root",
		"copy `DIR`, around the workspace, if the workspace needs other parts of it")
	flags.OutputDirVar(&opt.Scratch, "scratch", "a `DIR` with space for two output bases")
	flags.StringArrayVar(&opt.Startup, "startup", nil,
		"a startup `FLAG` for Bazel; repeat it for several")
	flags.NumberVarP(&opt.Jobs[0], "jobs-a", "", 1, math.MaxInt, "jobs",
		"--jobs of the first build: `N`")
	flags.NumberVarP(&opt.Jobs[1], "jobs-b", "", 1, math.MaxInt, "jobs",
		"--jobs of the second build: `N`")
	flags.OutputDirVar(&keep, "keep-logs", "copy A.log and B.log to the existing directory `DIR`")
	return flags.Command(func(env *cli.Env, args []string) error {
		opt.Args, opt.Out = args, env.Stderr
		return runBuilds(env, opt, &r, keep)
	})
}

func runBuilds(env *cli.Env, opt twobuilds.Options, r *reportFlags, keep string) (err error) {
	if _, err := r.allowances(); err != nil {
		return err // before the builds
	}
	builds, err := twobuilds.New(opt)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(env.Stderr, env.Program+": "+format+"\n", args...)
	}
	cli.AtSignal(func() {
		say("interrupted: ending Bazel and removing what the builds made")
		builds.Interrupt()
	})
	defer func() {
		// A process that an interrupt ends doesn't return from here.
		say("removing what the builds made")
		if e := builds.Close(); e != nil && err == nil {
			err = e
		}
		cli.AtSignal(func() {})
	}()
	say("what differs between the builds, A vs B:")
	for _, line := range builds.Varied() {
		say("  %s", line)
	}
	say("copying %s", builds.Root())
	if err := builds.Copy(); err != nil {
		return err
	}
	failed, err := buildBoth(builds, keep, say)
	if err != nil {
		return err
	}
	say("comparing")
	err = r.run(env, builds.Logs, [2]string{"A.log", "B.log"},
		[2]string{builds.ExecRoot(0), builds.ExecRoot(1)})
	if failed != nil && (err == nil || err == cli.ErrNo) {
		return failed
	}
	return err
}

// buildBoth makes the builds. failed says that the second alone fails, after which there is still
// something to compare.
func buildBoth(builds *twobuilds.Builds, keep string, say func(string, ...any)) (
	failed, err error) {
	for i, name := range []string{"A", "B"} {
		say("build %s, %d of 2, from nothing", name, i+1)
		began := time.Now()
		fails, err := builds.Build(i)
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", name, err)
		}
		say("build %s took %.0f s", name, time.Since(began).Seconds())
		if keep != "" {
			if err := copyLog(builds.Logs[i], filepath.Join(keep, name+".log")); err != nil {
				return nil, err
			}
		}
		if fails && i == 0 {
			return nil, fmt.Errorf("build %s fails; what Bazel says is above", name)
		}
		if fails {
			failed = fmt.Errorf("build %s fails, and build A doesn't; what Bazel says is above", name)
		}
	}
	return failed, nil
}

func copyLog(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return cli.WriteFile(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
