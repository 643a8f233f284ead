package machine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestStart runs shell commands in place of QEMU.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		name, script string
		silent       bool
		want         string // a part of the error; "" if there is none
	}{
		{"ends early", "true", false, ""},
		{"ends late", `echo Linux >"$0"; sleep 1`, false, ""},
		{"hangs", "exec sleep 60", true, "no line on the console"},
		{"hangs with an empty console", `: >"$0"; exec sleep 60`, true, "no line on the console"},
		{"fails", `echo Linux >"$0"; echo bad; exit 3`, false, "exit status 3\nbad"},
	} {
		t.Run(c.name, func(t *testing.T) {
			console := filepath.Join(t.TempDir(), "console")
			must.OK(t, os.WriteFile(console, []byte("of an earlier try"), 0o666))
			err := start([]string{"sh", "-c", c.script, console}, console, time.Second/2)
			switch {
			case c.want == "" && err == nil:
			case err == nil, !strings.Contains(err.Error(), c.want), errors.Is(err, errSilent) != c.silent:
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
