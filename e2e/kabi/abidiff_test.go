package kabi

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// verdict is what a tool says of a symbol.
type verdict string

const (
	same         verdict = "same"
	harmless     verdict = "harmless" // btfdedup says compatible
	review       verdict = "review"   // only abidiff: a person must decide
	incompatible verdict = "incompatible"
)

// finding is a verdict, and the kinds of changes that led to it.
type finding struct {
	verdict verdict
	changes []string
}

func (f *finding) add(change string) {
	if i, ok := slices.BinarySearch(f.changes, change); !ok {
		f.changes = slices.Insert(f.changes, i, change)
	}
}

var (
	heading = regexp.MustCompile(`^(?:\d+ .*|\w+ (?:functions|variables)):\s*$`)
	listed  = regexp.MustCompile(`^  \[[ACD]\] .*?\b(s\d+)\b`)
	change  = regexp.MustCompile(`(?:member|enumerator) (?:insertion|deletion)|enumerator change|` +
		`(?:offset|size|name|entity) changed|was (?:added|removed|replaced)|declaration-only`)
)

const abidiffTimeout = time.Hour

// abidiff returns abidiff's findings about those symbols of two object files that differ.
// The result is nil if abidiff crashes.
func abidiff(t *testing.T, dir, a, b string) map[string]*finding {
	t.Helper()
	out := map[string]*finding{}
	// All changes first, then those that are not harmless.
	for _, flags := range [][]string{{"--harmless"}, nil} {
		argv := append([]string{os.Getenv("ABIDIFF"), "--redundant", "--no-show-locs",
			"--no-default-suppression"}, flags...)
		r, err := harness.Command{Argv: append(argv, a, b), Dir: dir}.Run()
		if err == nil && (r.Exit < 0 || r.Exit > 128) && !r.TimedOut {
			return nil
		}
		if err != nil || r.Exit&3 != 0 {
			t.Fatalf("abidiff: %v %+v", err, r)
		}
		of, last := harmless, &finding{}
		for line := range strings.Lines(r.Stdout) {
			line = strings.TrimRight(line, "\n")
			if heading.MatchString(line) && flags == nil {
				of = review
				if strings.Contains(line, "incompatible") || strings.Contains(line, "Removed") {
					of = incompatible
				}
			}
			if m := listed.FindStringSubmatch(line); m != nil {
				last = &finding{verdict: of}
				out[m[1]] = last
				if strings.Contains(line, "[D]") {
					last.add("removed")
				}
			} else if m := change.FindString(line); m != "" {
				last.add(m)
			}
		}
	}
	return out
}
