package remote

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks returns the texts of docs/remote.md that are marked as of a language.
func blocks(t testing.TB, language string) []string {
	t.Helper()
	text := harness.ReadFile(t, filepath.Join(harness.Repo(), "docs/remote.md"))
	var out []string
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}

// block returns the only text of docs/remote.md in a language.
func block(t testing.TB, language string) string {
	t.Helper()
	all := blocks(t, language)
	if len(all) != 1 {
		t.Fatalf("docs/remote.md has %d blocks of %s, want 1", len(all), language)
	}
	return all[0]
}
