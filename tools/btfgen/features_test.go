package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// What can't be done is refused, not left out in silence.
func TestFeaturesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--features=no_such_feature"}, "no_such_feature"},
		{[]string{"--features=default,distilled_base", "--base=base.btf"}, "needs --distilled-base=FILE"},
		{[]string{"--distilled-base=out.base.btf"}, "without --base"},
	} {
		var stdout, stderr bytes.Buffer
		p := program()
		p.Stdout, p.Stderr = &stdout, &stderr
		out := filepath.Join(t.TempDir(), "out.btf")
		code := p.Run(append(append([]string{"elf", "-o", out}, c.args...), "vmlinux"))
		if code != 2 || !strings.Contains(stderr.String(), c.want) || stdout.Len() != 0 {
			t.Errorf("%q: exit code %d, stderr %q; want 2 and %q", c.args, code, stderr.String(), c.want)
		}
	}
}
