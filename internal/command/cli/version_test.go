package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/version"
)

// TestVersionIsPrinted: by a flag and by a word.
func TestVersionIsPrinted(t *testing.T) {
	for _, arg := range []string{"--version", "version"} {
		var stdout, stderr bytes.Buffer
		if code := greeter(&stdout, &stderr).Run([]string{arg}); code != 0 ||
			stdout.String() != "greeter "+version.Line()+"\n" {
			t.Errorf("%s: exit code %d, %s%s", arg, code, &stdout, &stderr)
		}
		if code := greeter(&stdout, &stderr).Run([]string{arg, "x"}); code != 2 ||
			!strings.Contains(stderr.String(), `too many arguments: it takes none, and there is "x"`) {
			t.Errorf("%s x: exit code %d, %s", arg, code, &stderr)
		}
	}
}
