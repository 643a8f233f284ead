package examples

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// steps returns the commands of the steps in one of the workflows in examples/ci. The keys of the
// result are the steps' names.
func steps(t *testing.T, workflow string) map[string]string {
	t.Helper()
	text := string(harness.ReadFile(t, filepath.Join(example("ci"), ".github/workflows", workflow)))
	found := map[string]string{}
	step := regexp.MustCompile(`(?m)^      - name: (.*)\n(?:        .*\n)*?        run: (?:\|\n)?` +
		`(.*\n(?:          .*\n)*)`)
	for _, m := range step.FindAllStringSubmatch(text, -1) {
		found[m[1]] = strings.ReplaceAll(m[2], "\n          ", "\n")
	}
	if runs := strings.Count(text, " run: "); runs != len(found) || runs == 0 {
		t.Fatalf("%s: only %d of %d steps were parsed", workflow, len(found), runs)
	}
	return found
}

// newCI makes a workspace from the files in examples/hello and in examples/ci.
func newCI(t *testing.T) *harness.Workspace {
	t.Helper()
	from := t.TempDir()
	harness.MustRun(t, "", "cp", "-a", example("hello")+"/.", example("ci")+"/.", from)
	harness.MustRun(t, from, "sh", "-c", "echo 'try-import %workspace%/ci.bazelrc' >>.bazelrc")
	return newWorkspace(t, from)
}

// cache is an HTTP cache for Bazel.
type cache struct {
	sync.Mutex
	content map[string][]byte
}

func (c *cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.Lock()
	defer c.Unlock()
	switch data, ok := c.content[r.URL.Path]; {
	case r.Method == http.MethodPut:
		c.content[r.URL.Path], _ = io.ReadAll(r.Body)
	case ok:
		w.Write(data)
	default:
		http.NotFound(w, r)
	}
}

func (c *cache) size() int {
	c.Lock()
	defer c.Unlock()
	return len(c.content)
}

// TestCache runs the commands of btf.yml as for a push, and then as for a pull request. Only the
// push may store files in the cache.
func TestCache(t *testing.T) {
	run := steps(t, "btf.yml")
	c := &cache{content: map[string][]byte{}}
	server := httptest.NewServer(c)
	defer server.Close()

	env := fmt.Sprintf("export REMOTE_CACHE=%s UPLOAD=", server.URL)
	w := newCI(t)
	w.Shell(env + "true; " + run["Build and test"])
	w.Shell(run["Collect"])
	first := w.Read("btf/vmlinux_btf.btf")
	stored := c.size()
	if stored < 20 {
		t.Errorf("a push stored %d files in the cache", stored)
	}

	w.Shell("rm -rf btf; bazel clean; echo '/* new */' >>drivers/raid.c")
	printed := w.Shell(env + "false; " + run["Build and test"])
	w.Shell(run["Collect"])
	if !strings.Contains(printed, "remote cache hit") {
		t.Errorf("a pull request took nothing from the cache:\n%s", printed)
	}
	if c.size() != stored {
		t.Errorf("a pull request stored %d files in the cache", c.size()-stored)
	}
	if w.Read("btf/vmlinux_btf.btf") != first {
		t.Error("the BTF differs from that of the push")
	}

	// A workspace without tests passes; a workspace with an error doesn't.
	w.Shell(`sed -i '/^btf_diff_test(/,/^)/d' BUILD.bazel`)
	if printed := w.Shell(env + "false; " + run["Build and test"]); !strings.Contains(printed,
		"No test targets were found") {
		t.Errorf("there are tests:\n%s", printed)
	}
	w.Shell("echo 'int broken(void) { return undeclared; }' >>drivers/raid.c")
	if printed, exit := w.Try(env + "false; " + run["Build and test"]); exit != 1 {
		t.Errorf("a compiler error: exit %d, want 1\n%s", exit, printed)
	}
}

// TestReproducible runs the commands of reproducible.yml on two equal builds, and then on two
// builds that differ in a source file.
func TestReproducible(t *testing.T) {
	run := steps(t, "reproducible.yml")
	temp := t.TempDir()
	env := "export RUNNER_TEMP=" + temp + " BUILD="
	harness.MustRun(t, temp, "ln", "-s", harness.Repo(), "rules_btf") // where actions/checkout puts it
	harness.MustRun(t, temp, "bash", "-euc", "export RUNNER_TEMP=$PWD GITHUB_PATH=$PWD/path; "+
		run["Install btfrepro"])
	path := strings.TrimSpace(string(harness.ReadFile(t, filepath.Join(temp, "path"))))
	compare := harness.Command{
		Argv: []string{"bash", "-c", "PATH=" + path + ":$PATH; " + run["Compare"]},
		Env:  []string{"RUNNER_TEMP=" + temp},
	}
	var w *harness.Workspace
	for _, build := range []string{"a", "b"} {
		w = newCI(t)
		w.Shell(env + build + "; " + run["Build from nothing"])
	}
	if r, err := compare.Run(); err != nil || r.Exit != 0 {
		t.Errorf("two builds: exit %d, %v\n%s%s", r.Exit, err, r.Stdout, r.Stderr)
	}
	w.Shell("echo 'int added;' >>drivers/raid.c; bazel clean; " + env + "b; " +
		run["Build from nothing"])
	r, err := compare.Run()
	if err != nil || r.Exit != 1 || !strings.Contains(r.Stdout, "source file drivers/raid.c") {
		t.Errorf("a source differs: exit %d, %v\n%s%s", r.Exit, err, r.Stdout, r.Stderr)
	}
}
