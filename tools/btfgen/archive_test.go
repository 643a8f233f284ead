package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestArchiveIsForObject passes an archive to verbs for linked files. Their errors must name the
// verb for archives.
func TestArchiveIsForObject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib.a")
	must.OK(t, os.WriteFile(path, []byte("!<arch>\n"), 0o666))
	for _, verb := range []string{"elf", "facts"} {
		code, _, stderr := btfgen(verb, "-o", path+".out", path)
		if code != 1 || !strings.Contains(stderr, "btfgen object") {
			t.Errorf("%s: exit code %d, %s", verb, code, stderr)
		}
	}
}
