package kabi

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// verdict is what a tool says of a symbol.
type verdict string

const (
	same         verdict = "same"
	harmless     verdict = "harmless" // abidiff's "harmless", or "compatible"
	review       verdict = "review"   // only abidiff: a person must decide
	incompatible verdict = "incompatible"
)

var (
	heading = regexp.MustCompile(`^(?:\d+ .*|\w+ (?:functions|variables)):\s*$`)
	symbol  = regexp.MustCompile(`^  \[[ACD]\] .*?\b(s\d+)\b`)
)

// abidiff returns what abidiff says of the symbols of two object files that it doesn't find equal.
func abidiff(t *testing.T, dir, a, b string) map[string]verdict {
	t.Helper()
	out := map[string]verdict{}
	// All changes first, then those that are not harmless.
	for _, flags := range [][]string{{"--harmless"}, nil} {
		argv := append([]string{abidiffPath(), "--redundant", "--no-show-locs",
			"--no-default-suppression"}, flags...)
		r, err := harness.Command{Argv: append(argv, a, b), Dir: dir}.Run()
		if err != nil || r.Exit&3 != 0 || r.Exit < 0 {
			t.Fatalf("abidiff: %v %+v", err, r)
		}
		of := harmless
		for line := range strings.Lines(r.Stdout) {
			line = strings.TrimRight(line, "\n")
			if heading.MatchString(line) && flags == nil {
				of = review
				if strings.Contains(line, "incompatible") || strings.Contains(line, "Removed") {
					of = incompatible
				}
			}
			if m := symbol.FindStringSubmatch(line); m != nil {
				out[m[1]] = of
			}
		}
	}
	return out
}

// abidiffPath returns the program that e2e/fetch/fetch abidiff has fetched.
func abidiffPath() string { return os.Getenv("ABIDIFF") }
