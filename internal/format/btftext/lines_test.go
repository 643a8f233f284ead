package btftext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btftext"
)

// TestLines checks that a reference is whole: if a line is deleted or repeated, or if two lines
// change places, that is an error, or the types are the same.
func TestLines(t *testing.T) {
	text := string(write(t, compile(t, source)))
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	kept := 0
	check := func(what string, at int, edited []string) {
		b, err := btftext.Read([]byte(strings.Join(edited, "")))
		switch {
		case err == nil:
			kept++
			if string(write(t, b)) != text {
				t.Errorf("line %d %s is no error: %s", at+1, what, lines[at])
			}
		case !strings.Contains(err.Error(), "btfdedup dump --format=kabi"):
			t.Errorf("line %d %s: %v", at+1, what, err)
		}
	}
	for i := range lines {
		check("deleted", i, slices.Delete(slices.Clone(lines), i, i+1))
		check("repeated", i, slices.Insert(slices.Clone(lines), i, lines[i]))
		for j := range i {
			swapped := slices.Clone(lines)
			swapped[i], swapped[j] = lines[j], lines[i]
			check("moved", i, swapped)
		}
	}
	if kept > len(lines) {
		t.Errorf("%d edits are no errors", kept)
	}
}
