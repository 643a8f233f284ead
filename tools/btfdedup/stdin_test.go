package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestStdin(t *testing.T) { clitest.Stdin(t, program) }

// TestStdinIsTheFile: verbs produce the same output from standard input as from the file.
func TestStdinIsTheFile(t *testing.T) {
	dir := t.TempDir()
	base, blob := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 32)
		b.Composite(btf.KindStruct, "s", 0, false)
	})
	typedef := func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 2) }
	split, _ := writeBTF(t, dir, "split.btf", blob, typedef)
	for _, command := range []string{
		"link -o - BASE", "merge -o - BASE", "index -o - BASE", "import -o - BASE", "verify BASE",
		"diff BASE BASE", "conflicts --base BASE SPLIT", "link -o - --base BASE SPLIT",
		"stats --base BASE SPLIT",
	} {
		run := func(in string, command string) (int, string) {
			f := must.Get(os.Open(in))(t)
			defer f.Close()
			var out bytes.Buffer
			args := strings.NewReplacer("BASE", base, "SPLIT", split).Replace(command)
			code := cli.Execute(program, strings.Fields(args), f, &out, &out)
			return code, out.String()
		}
		code, want := run(os.DevNull, command)
		if code != 0 {
			t.Errorf("%s: exit code %d, %q", command, code, want)
		}
		for _, c := range []struct{ name, path string }{{"BASE", base}, {"SPLIT", split}} {
			if !strings.Contains(command, c.name) {
				continue
			}
			with := strings.Replace(command, c.name, "-", 1)
			code, got := run(c.path, with)
			if got = strings.ReplaceAll(got, "/dev/stdin", c.path); code != 0 || got != want {
				t.Errorf("%s: exit code %d\n%q\nwant\n%q", with, code, got, want)
			}
		}
	}
	if _, err := os.Stat("-"); err == nil {
		t.Error("there is a file called -")
	}
	if _, err := os.Stat(filepath.Join(dir, "-")); err == nil {
		t.Error("there is a file called -")
	}
}
