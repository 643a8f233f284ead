package pahole

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// outcome is the expected outcome of one of dwarves' scripts: the exit code, and a pattern that
// matches the output.
type outcome struct {
	exit int
	says string
}

// passes is the default outcome, for each script that outcomes doesn't list.
var passes = outcome{0, `Test \./\S+ passed`}

var outcomes = map[string]outcome{
	// If our pahole fails, this script passes too, because then it has nothing to compare. So the
	// output must show that it compared functions.
	"btf_functions.sh": {0, `(?s)Matched [1-9]\d* functions exactly.*Skipped encoding [1-9].*passed`},
	// The script looks for a pointer to which only a variable refers, and we leave out types to which
	// nothing in the BTF refers. With the feature global_var (see TestDwarves), the script passes.
	"btf_type_tag_order.sh": {1, "could not find tagged pointer to struct sample"},
	// This script encodes nothing.
	"prettify_perf.data.sh": {2, "skip: No 'perf' binary available"},
	// The script counts the threads of a running pahole with ps. In our pahole, the Go runtime adds
	// threads; and on a small file, neither pahole runs long enough for the script to see it.
	"reproducible_build.sh": {1, "ERROR: pahole asked to start 1 encoding threads, started"},
}

var (
	encodes  = regexp.MustCompile(`(?m)^[^#\n]*(-J|--btf_encode)`)
	leftData = regexp.MustCompile(`Test data is in (/tmp/[\w.-]+)`)
)

// TestDwarves runs the scripts in dwarves' own tests. When a script encodes BTF, our pahole runs;
// when it prints BTF, dwarves' pahole runs.
func TestDwarves(t *testing.T) {
	dwarves := os.Getenv("DWARVES")
	if dwarves == "" {
		t.Skip("SKIPPED: set DWARVES to what e2e/fetch/fetch dwarves prints")
	}
	needOracle(t)
	harness.Need(t, "gcc", "clang", "make", "bpftool", "pfunct")
	theirs := must.Get(exec.LookPath("pahole"))(t)
	dir, bin := t.TempDir(), t.TempDir()
	must.OK(t, os.CopyFS(dir, os.DirFS(filepath.Join(dwarves, "tests"))))
	calls := filepath.Join(bin, "calls")
	script := func(name, text string, args ...any) {
		path := filepath.Join(bin, name)
		harness.WriteFile(t, path, "#!/bin/sh\n"+fmt.Sprintf(text, args...))
		must.OK(t, os.Chmod(path, 0o777))
	}
	script("pahole", `case " $* " in
*" -J "* | *" --btf_encode"*)
	echo "$*" >>'%s'
	exec '%s' $ADD "$@" ;;
esac
exec '%s' "$@"
`, calls, harness.Tool(t, "pahole"), theirs)
	const run = "LD_LIBRARY_PATH='%[1]s/usr/lib/x86_64-linux-gnu' exec '%[1]s/usr/bin/%[2]s' \"$@\"\n"
	script("awk", run, dwarves, "gawk")
	script("ps", run, dwarves, "ps")

	vmlinux := os.Getenv("VMLINUX")
	if vmlinux == "" {
		compileSkipped(t, dir)
		vmlinux = filepath.Join(dir, "vmlinux")
		harness.MustRun(t, "", harness.Tool(t, "pahole"), "-J", "--btf_features=default", vmlinux)
	}

	// try runs a script and checks that it has the wanted outcome. The script's calls of our pahole
	// get the additional argument add.
	try := func(t *testing.T, name, add string, want outcome) {
		os.Remove(calls)
		r, err := harness.Command{Argv: []string{"bash", "-c", "exec 2>&1; ./" + name}, Dir: dir,
			Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "PAHOLE=pahole", "ADD=" + add,
				"vmlinux=" + vmlinux, "VERBOSE=1", "CFLAGS=", "TERM=dumb"}, Timeout: time.Hour}.Run()
		must.OK(t, err)
		if m := leftData.FindStringSubmatch(r.Stdout); m != nil {
			os.RemoveAll(m[1])
		}
		if r.Exit != want.exit || !regexp.MustCompile(want.says).MatchString(r.Stdout) {
			t.Errorf("exit code %d, output:\n%s", r.Exit, r.Stdout)
		}
		_, err = os.Stat(calls)
		if text := harness.ReadFile(t, filepath.Join(dir, name)); encodes.Match(text) != (err == nil) {
			t.Errorf("our pahole was called: %t", err == nil)
		}
	}
	scripts := must.Get(filepath.Glob(filepath.Join(dir, "*.sh")))(t)
	for i, path := range scripts {
		scripts[i] = filepath.Base(path)
	}
	for name := range outcomes {
		if !slices.Contains(scripts, name) {
			t.Errorf("%s: dwarves no longer has this script", name)
		}
	}
	for _, name := range scripts {
		if name != "test_lib.sh" { // the library that the other scripts use
			want := cmp.Or(outcomes[name], passes)
			t.Run(name, func(t *testing.T) { try(t, name, "", want) })
		}
	}
	t.Run("with global_var", func(t *testing.T) {
		try(t, "btf_type_tag_order.sh", "--btf_features=global_var", passes)
	})
}
