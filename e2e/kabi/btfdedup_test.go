package kabi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// difference is a difference in the JSON of btfdedup diff.
type difference struct {
	Class, Type, Because, Path string
	Compatible                 bool
	Changes                    []struct {
		Kind, Reason string
		Breaks       bool
	}
}

// readReport runs btfdedup diff.
func readReport(t *testing.T, args ...string) (report struct{ Differences []difference }) {
	t.Helper()
	r, err := harness.Command{Argv: append([]string{harness.Tool(t, "btfdedup"), "diff",
		"--format=json"}, args...)}.Run()
	if err == nil {
		err = json.Unmarshal([]byte(r.Stdout), &report)
	}
	if err != nil {
		t.Fatalf("btfdedup diff: %v\n%s", err, r.Stderr)
	}
	return report
}

// reasons lists the changes that are incompatible, or those that are not.
func (d *difference) reasons(v verdict) (list []string) {
	if len(d.Changes) == 0 && v == incompatible && !d.Compatible {
		return []string{d.Class}
	}
	for _, c := range d.Changes {
		if c.Breaks == (v == incompatible) {
			list = append(list, c.Kind+" "+c.Reason)
		}
	}
	return list
}

// ours returns the findings of btfdedup diff about those symbols of two object files that differ.
// It must find the same if A is a reference in text.
func ours(t *testing.T, dir string, pairs []pair) map[string]*finding {
	t.Helper()
	list := bytes.NewBufferString("other\n") // as in judge
	for _, p := range pairs {
		fmt.Fprintln(list, p.before.prefix)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	harness.WriteFile(t, path("symbols"), list.String())
	for _, name := range []string{"a", "b"} {
		harness.MustRun(t, dir, harness.Tool(t, "btfgen"), "elf", "--features=all,global_var",
			"-o", name+".btf", name+".o")
	}
	report := readReport(t, "--symbols", path("symbols"), path("a.btf"), path("b.btf"))
	harness.MustRun(t, dir, harness.Tool(t, "btfdedup"), "dump", "--format=kabi",
		"--symbols", "symbols", "-o", "a.kabi", "a.btf")
	if other := readReport(t, path("a.kabi"), path("b.btf")); !reflect.DeepEqual(report, other) {
		t.Errorf("different with A as a reference:\n%v\n%v", report, other)
	}
	out := map[string]*finding{}
	for _, d := range report.Differences {
		name := symbolName.FindString(d.Path)
		f := out[name]
		if f == nil {
			f = &finding{verdict: harmless}
			out[name] = f
		}
		if !d.Compatible && f.verdict == harmless {
			*f = finding{verdict: incompatible}
		}
		for _, change := range d.reasons(f.verdict) {
			f.add(change)
		}
	}
	return out
}

var symbolName = regexp.MustCompile(`\bs\d+\b`)
