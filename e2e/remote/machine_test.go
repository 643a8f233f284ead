package remote

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// all enables the tests that take more than a few seconds; see needAll.
var all = flag.Bool("all", false, "run everything: an hour on two cores")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run runs the tests. They get a directory for temporary files, which run removes at the end.
func run(m *testing.M) int {
	scratch, err := os.MkdirTemp("", "remote")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("TMPDIR", scratch)
	defer os.RemoveAll(scratch)
	defer removeQuick()
	return m.Run()
}

// needAll skips a test unless the flag -all is set.
func needAll(t *testing.T) {
	if !*all {
		t.Skip("SKIPPED: e2e/remote/run --all runs it")
	}
}

// machine is a place where Bazel runs, with its own workspace and output base.
type machine struct {
	t       testing.TB
	dir     string   // the workspace
	base    string   // the output base
	scratch string   // the directory above both
	under   []string // the beginning of the command line, before "bazel"
	env     []string // variables that are added to the environment
	options []string // the options for all builds
	targets []string
	results []string // the files with the targets' results, relative to bazel-bin
	builds  int
}

// helloTargets are the targets of examples/hello to build, and helloResults are the files with
// their results.
var helloTargets = []string{"//:vmlinux_btf", "//:disk_btf", "//:raid_btf"}
var helloResults = []string{"vmlinux_btf.btf", "disk_btf.btf", "raid_btf.btf"}

// hello returns a machine with a copy of examples/hello.
func hello(t testing.TB) *machine {
	t.Helper()
	m := newMachine(t)
	m.targets, m.results = helloTargets, helloResults
	harness.CopyWorkspace(t, filepath.Join(harness.Repo(), "examples/hello"), m.dir)
	m.useBuiltTools()
	return m
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	harness.Need(t, "bazel")
	nginxProgram(t)
	scratch := must.Get(os.MkdirTemp("", "machine"))(t)
	m := &machine{t: t, scratch: scratch, dir: filepath.Join(scratch, "workspace"),
		base: filepath.Join(scratch, "base")}
	t.Cleanup(m.remove)
	return m
}

func (m *machine) remove() {
	if server := m.server(); server != 0 {
		m.bazel("shutdown").Run()
	}
	harness.Command{Argv: []string{"chmod", "-R", "u+w", m.scratch}}.Run()
	os.RemoveAll(m.scratch)
}

// manyActions makes builds run one action for each object file, so that there are many actions to
// count.
func (m *machine) manyActions() { m.options = append(m.options, grainObject) }

const (
	grainObject = "--@rules_btf//rules/settings:grain=object"
	grain16     = "--@rules_btf//rules/settings:grain=16" // the default
)

// useBuiltTools registers a toolchain of tools that "go build" has built.
func (m *machine) useBuiltTools() {
	m.t.Helper()
	m.addTools(harness.Tool(m.t, "btfgen"), harness.Tool(m.t, "btfdedup"))
}

func (m *machine) addTools(btfgen, btfdedup string) {
	m.t.Helper()
	m.options = append(m.options, harness.AddTools(m.t, m.dir, btfgen, btfdedup))
}

// outcome is the outcome of a build.
type outcome struct {
	exit    int // the exit code; -1 if a signal killed Bazel
	seconds float64
	stderr  string
	log     string // the path of the execution log
	spawns  []execlog.Spawn
}

// bazel returns the command that runs Bazel with the given arguments.
func (m *machine) bazel(args ...string) harness.Command {
	argv := append([]string{}, m.under...)
	argv = append(argv, "bazel", "--output_base="+m.base, "--max_idle_secs=120")
	return harness.Command{Argv: append(argv, args...), Dir: m.dir, Env: m.env}
}

// server returns the process id of Bazel's server, or 0 if no server runs.
func (m *machine) server() int {
	text, err := os.ReadFile(filepath.Join(m.base, "server/server.pid.txt"))
	if err != nil {
		return 0
	}
	pid := 0
	fmt.Sscan(string(text), &pid)
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		return 0
	}
	return pid
}

// build runs "bazel build" after "bazel clean", so that results can only come from the caches in
// the options.
func (m *machine) build(options ...string) outcome {
	m.t.Helper()
	if m.builds > 0 {
		m.bazel("clean").Must(m.t)
	}
	return m.rebuild(options...)
}

// rebuild runs "bazel build" without removing the outputs of the last build.
func (m *machine) rebuild(options ...string) outcome {
	m.t.Helper()
	m.builds++
	log := filepath.Join(m.scratch, fmt.Sprintf("build-%d.log", m.builds))
	args := append([]string{"build", "--noshow_progress", "--color=no",
		"--execution_log_compact_file=" + log}, m.options...)
	command := m.bazel(append(append(args, options...), m.targets...)...)
	command.Timeout = 4 * time.Minute
	if *all {
		command.Timeout = 40 * time.Minute
	}
	began := time.Now()
	r, err := command.Run()
	must.OK(m.t, err)
	o := outcome{exit: r.Exit, seconds: time.Since(began).Seconds(), stderr: r.Stderr,
		log: log}
	if r.TimedOut {
		m.t.Logf("bazel build did not end:\n%s", tail(r.Stderr))
		if pid := m.server(); pid > 0 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		o.exit = -1
		return o
	}
	o.spawns, err = readLog(log)
	if err != nil && o.exit == 0 && !slices.Contains(options, "--nobuild") {
		m.t.Fatal(err)
	}
	return o
}

func readLog(path string) ([]execlog.Spawn, error) {
	log, err := execlog.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return log.Spawns, nil
}

// must runs a build like the method build, and fails the test unless the build succeeds.
func (m *machine) must(options ...string) outcome {
	m.t.Helper()
	return m.ok(m.build(options...))
}

func (m *machine) ok(o outcome) outcome {
	m.t.Helper()
	if o.exit != 0 {
		m.t.Fatalf("bazel build: exit %d\n%s", o.exit, tail(o.stderr))
	}
	return o
}

// digests returns the SHA-256 of each result, or "missing" if the file doesn't exist.
func (m *machine) digests() map[string]string {
	m.t.Helper()
	out := map[string]string{}
	for _, name := range m.results {
		content, err := os.ReadFile(filepath.Join(m.dir, "bazel-bin", name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out[name] = "missing"
		case err != nil:
			m.t.Fatal(err)
		default:
			out[name] = fmt.Sprintf("%x", sha256.Sum256(content))
		}
	}
	return out
}

// same fails the test unless the results have the wanted digests.
func (m *machine) same(want map[string]string) {
	m.t.Helper()
	got := m.digests()
	for name, digest := range want {
		if got[name] != digest || digest == "missing" {
			m.t.Errorf("%s: SHA-256 %s, want %s", name, got[name], digest)
		}
	}
}

func tail(s string) string {
	if len(s) > 4000 {
		return "…" + s[len(s)-4000:]
	}
	return s
}

// needRoot skips the test unless it runs as root, which can mount file systems.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs root, for mounts")
	}
}
