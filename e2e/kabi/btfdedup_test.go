package kabi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// ours returns what btfdedup diff says of the symbols of two object files that it doesn't find equal.
func ours(t *testing.T, dir string, pairs []pair) map[string]*finding {
	t.Helper()
	var list strings.Builder
	for _, p := range pairs {
		fmt.Fprintln(&list, p.before.prefix)
	}
	harness.WriteFile(t, filepath.Join(dir, "symbols"), list.String())
	for _, name := range []string{"a", "b"} {
		harness.MustRun(t, dir, harness.Tool(t, "btfgen"), "elf", "--features=all,global_var",
			"-o", name+".btf", name+".o")
	}
	r, err := harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "diff", "--format=json",
		"--symbols", "symbols", "a.btf", "b.btf"}, Dir: dir}.Run()
	var report struct {
		Differences []struct {
			Class, Type, Path string
			Compatible        bool
			Changes           []struct {
				Kind, Reason string
				Breaks       bool
			}
		}
	}
	if err == nil {
		err = json.Unmarshal([]byte(r.Stdout), &report)
	}
	if err != nil {
		t.Fatalf("btfdedup diff: %v\n%s", err, r.Stderr)
	}
	out := map[string]*finding{}
	for _, d := range report.Differences {
		name := symbolName.FindString(cmp.Or(d.Path, d.Type)) // a symbol's own difference has no path
		f := out[name]
		if f == nil {
			f = &finding{verdict: harmless}
			out[name] = f
		}
		if !d.Compatible && f.verdict == harmless {
			*f = finding{verdict: incompatible}
		}
		if len(d.Changes) == 0 && !d.Compatible {
			f.add(d.Class)
		}
		for _, c := range d.Changes {
			if c.Breaks == (f.verdict == incompatible) {
				f.add(c.Kind + " " + c.Reason)
			}
		}
	}
	return out
}

var symbolName = regexp.MustCompile(`\bs\d+\b`)
