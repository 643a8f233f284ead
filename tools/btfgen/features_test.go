package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// What can't be done is refused, not left out in silence.
func TestFeaturesThatAreNotSupported(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"default,distilled_base", "distilled_base is not supported"},
		{"no_such_feature", "no_such_feature"},
	} {
		var stdout, stderr bytes.Buffer
		p := program()
		p.Stdout, p.Stderr = &stdout, &stderr
		out := filepath.Join(t.TempDir(), "out.btf")
		code := p.Run([]string{"elf", "--features=" + c.list, "-o", out, "vmlinux"})
		if code != 2 || !strings.Contains(stderr.String(), c.want) || stdout.Len() != 0 {
			t.Errorf("--features=%s: exit code %d, stderr %q; want 2 and %q", c.list, code, stderr.String(), c.want)
		}
	}
}
