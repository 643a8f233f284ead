// Package repro builds a workspace twice with Bazel, with planted differences of each kind between
// the builds, and checks that btfrepro finds each difference and its cause.
package repro

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// jsonReport is the part of btfrepro's JSON report that the tests read.
type jsonReport struct {
	Differ, Allowed int
	Verdicts        map[string]int
	Cached          int `json:"same_by_cache"`
	Causes          []struct {
		Kind, Text         string
		Direct, Downstream int
	}
	Actions []struct {
		Verdict, Mnemonic, Label, Failed, Allowed string
		Causes                                    []int
		Changes                                   []struct{ Kind, Name, A, B, Note string }
		Outputs                                   []struct {
			Path string
			More []string
		}
	}
}

func diff(t *testing.T, code int, args ...string) (*jsonReport, string) {
	t.Helper()
	return compared(t, code, "diff", append([]string{"--all"}, args...)...)
}

// compared runs a verb, and returns its report as JSON and as text.
func compared(t *testing.T, code int, verb string, args ...string) (*jsonReport, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report.json")
	text := btfrepro(t, code, append([]string{verb, "--json=" + out}, args...)...)
	var f jsonReport
	must.OK(t, json.Unmarshal(harness.ReadFile(t, out), &f))
	return &f, text
}

// actions returns the actions that differ. It maps an action's mnemonic to a text with the verdict,
// the changes and the causes.
func (f *jsonReport) actions() map[string]string {
	all := map[string]string{}
	for _, a := range f.Actions {
		var changes, causes []string
		for _, ch := range a.Changes {
			changes = append(changes, strings.TrimSpace(ch.Kind+" "+filepath.Base(ch.Name)))
		}
		for _, n := range a.Causes {
			causes = append(causes, f.Causes[n].Kind+" "+f.Causes[n].Text)
		}
		slices.Sort(causes)
		name := a.Mnemonic
		if a.Mnemonic == "Only" {
			name += " " + a.Label
		}
		all[name] = fmt.Sprintf("%s: %s; %s", a.Verdict, strings.Join(changes, ", "),
			strings.Join(causes, ", "))
	}
	return all
}

// TestBuilds runs all builds in one workspace, because Bazel is slow to start. If KEEP_LOGS names a
// directory, the logs are written there; this is how the logs in internal/repro/testdata were made.
func TestBuilds(t *testing.T) {
	w := newWorkspace(t)
	t.Run("planted", w.testPlanted)
	w.prepare(t, 0)
	t.Run("path mapping", w.testPathMapping)
}

// testPlanted plants one difference for each verdict and each part of an action's key.
func (w *workspace) testPlanted(t *testing.T) {
	a := w.build(t, "planted", 0)
	w.prepare(t, 1)
	b := w.build(t, "planted", 1)
	const bin = "bazel-out/k8-fastbuild/bin/"
	f, text := diff(t, 1, "--a-dir="+w.root(t, 0), "--b-dir="+w.root(t, 1), a, b)
	t.Log(text)
	f.types(t)
	got := f.actions()
	const random = "non-deterministic Random //:random " + bin + "random.txt"
	const tree = "non-deterministic MakeTree //:directory " + bin + "directory"
	const source = "input source file source.in"
	for mnemonic, want := range map[string]string{
		"Random":        "non-deterministic: ; " + random,
		"UsesRandom":    "downstream: input random.txt; " + random,
		"UsesThat":      "downstream: input uses_random.txt; " + random,
		"MakeTree":      "non-deterministic: ; " + tree,
		"UsesDirectory": "downstream: input directory; " + tree,
		"Argument":      "key changed: argument .; argument -O1 vs -O2",
		"Leak":          "key changed: argument .; argument absolute path /home/one/work vs /srv/two",
		"Environment":   "key changed: environment WORD; environment WORD: hello vs goodbye",
		"Platform":      "cut-off: platform size; platform size: small vs large",
		"Source":        "key changed: input source.in; " + source,
		"UsesLink":      "key changed: input linked.txt; " + source,
		"Tool":          "key changed: tool tool.sh; tool source file tool.sh",
		"MakeTool":      "key changed: input source.in; " + source,
		"MadeTool":      "downstream: tool make_tool.txt; " + source,
		"Comment":       "cut-off: input comment.in; input source file comment.in",
		"Both": "key changed: argument ., input random.txt; argument -O1 vs -O2, " +
			random,
		"Joined": "downstream: input both.txt, input uses_link.txt; argument -O1 vs -O2, " + source +
			", " + random,
		"Fails":          "key changed: argument .; argument 0 vs 3",
		"Only //:only_a": "only in A: ; ",
		"Only //:only_b": "only in B: ; ",
		"Types":          "key changed: input types.btf; input source file types.btf",
	} {
		if got[mnemonic] != want {
			t.Errorf("%s:\n got %s\nwant %s", mnemonic, got[mnemonic], want)
		}
		delete(got, mnemonic)
	}
	if s := got["WithParams"]; !strings.HasPrefix(s, "key changed: param file params.txt-") {
		t.Errorf("WithParams: %s", s)
	}
	delete(got, "WithParams")
	if len(got) > 0 {
		t.Errorf("these actions differ too: %v", got)
	}
}

// types checks that for an output that is BTF, the report names the types that differ.
func (f *jsonReport) types(t *testing.T) {
	t.Helper()
	for _, a := range f.Actions {
		if a.Mnemonic != "Types" || len(a.Outputs) == 0 {
			continue
		}
		lines := strings.Join(a.Outputs[0].More, "\n")
		if !strings.Contains(lines, "differs: struct changed: member second: type int vs long int") {
			t.Errorf("the types that differ: %s", lines)
		}
		return
	}
	t.Error("no output with types differs")
}

// testPathMapping builds with path mapping, so that the actions don't see the configuration in the
// paths. It also checks the option --allow of btfrepro.
func (w *workspace) testPathMapping(t *testing.T) {
	const flag = "--experimental_output_paths=strip"
	a, b := w.build(t, "mapped", 0, flag), w.build(t, "mapped", 1, flag)
	f, _ := diff(t, 1, a, b)
	want := []string{"Both", "Joined", "MakeTree", "Random", "UsesDirectory", "UsesRandom", "UsesThat"}
	var got []string
	for name := range f.actions() {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q differ, want %q", got, want)
	}
	for _, action := range f.Actions {
		if len(action.Causes) != 1 || f.Causes[action.Causes[0]].Kind != "non-deterministic" {
			t.Errorf("%s: want one action as the cause, have %v", action.Mnemonic, action.Causes)
		}
	}
	f, text := diff(t, 0, "--allow=mnemonic=Random # random", "--allow=output=*/directory # too", a, b)
	if f.Differ != 0 || f.Allowed != len(want) {
		t.Errorf("with allowances %d differ and %d are allowed\n%s", f.Differ, f.Allowed, text)
	}
	diff(t, 0, "--mnemonic=Same,Tool", a, b)
}

// root returns the execution root of a build.
func (w *workspace) root(t *testing.T, build int) string {
	t.Helper()
	return filepath.Join(w.bases[build], "execroot/_main")
}
