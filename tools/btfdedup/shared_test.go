package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/shared"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestSharedVerbs makes a shared base from compiled modules, links the modules again on this base
// and on its index, and prints reports.
func TestSharedVerbs(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := programtest.Modules(t, dir, 3)
	kernel := []string{"--base", p("vmlinux.btf")}
	writeBTF(t, dir, "vmlinux.btf", nil, func(b *btf.Builder) { b.Int("int", 4, btf.IntSigned, 0) })
	run := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := btfdedup(args...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s", args, code, want, stderr)
		}
		return stdout
	}
	verb := func(name string, bases []string, more ...string) []string {
		return append(append([]string{name}, bases...), more...)
	}
	makeBTF(t, p("alone"), kernel[1:], kos...)
	if err := os.WriteFile(p("alone/m-1.inline.btf"), []byte("not read"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p("list"), []byte(p("alone/m-3.btf")+"\n"+p("alone/m-1.btf")+"\n"+
		p("alone/m-2.btf")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run(0, verb("shared", kernel, "-o", p("shared.btf"), p("alone"))...)
	run(0, verb("shared", kernel, "-o", p("again.btf"), "@"+p("list"))...)
	same := func(a, b string) {
		t.Helper()
		x, err := os.ReadFile(p(a))
		if err != nil {
			t.Fatal(err)
		}
		if y, err := os.ReadFile(p(b)); err != nil || string(x) != string(y) {
			t.Errorf("%s and %s differ (%v)", a, b, err)
		}
	}
	same("shared.btf", "again.btf")

	both := append(kernel, "--base", p("shared.btf"))
	makeBTF(t, p("small"), []string{p("vmlinux.btf"), p("shared.btf")}, kos...)
	run(0, "index", "-o", p("vmlinux.btfbase"), p("vmlinux.btf"))
	run(0, verb("index", kernel, "-o", p("shared.btfbase"), p("shared.btf"))...)
	makeBTF(t, p("indexed"), []string{p("vmlinux.btfbase"), p("shared.btfbase")}, kos...)
	for _, m := range []string{"m-1.btf", "m-2.btf", "m-3.btf"} {
		same("small/"+m, "indexed/"+m)
		run(0, verb("verify", both, p("small/"+m))...)
		run(0, "diff", "--base-a", p("vmlinux.btf"), "--base-b", p("vmlinux.btf"), "--base-b",
			p("shared.btf"), p("alone/"+m), p("small/"+m))
	}

	text := run(0, verb("stats", kernel, p("alone"))...)
	if !strings.Contains(text, "      3      24         48  struct s\n") {
		t.Error(text)
	}
	var r shared.Report
	if err := json.Unmarshal([]byte(run(0, verb("stats", both, "--format=json", p("small"))...)),
		&r); err != nil || r.Modules != 3 || r.Repeats != 0 || r.Shared.Types.Count != 0 {
		t.Errorf("%v %+v", err, r)
	}
	text = run(0, verb("stats", kernel, "--limit=1", p("alone"))...)
	if !strings.Contains(text, "1 more named type that several modules hold") {
		t.Error(text)
	}

	if err := os.Link(p("vmlinux.btf"), p("alone/vmlinux.btf")); err != nil {
		t.Fatal(err)
	}
	if again := run(0, verb("stats", kernel, "--limit=1", p("alone"))...); again != text {
		t.Errorf("with the base in the directory:\n%s", again)
	}

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"stats", p("alone")}, 2, "--base FILE is missing"},
		{[]string{"shared", "-o", p("x"), p("alone")}, 2, "--base FILE is missing"},
		{verb("stats", kernel, "--format=xml", p("alone")), 2, "must be text or json"},
		{verb("stats", kernel, "--limit=-1", p("alone")), 2,
			`"-1" for "--limit" flag: must be a number of types, at least 0`},
		{[]string{"stats", "--base", p("vmlinux.btfbase"), p("alone")}, 1, "is an index"},
		{verb("stats", kernel, ""), 2, "argument 1 is empty"},
		{verb("shared", kernel, "-o", p("x"), t.TempDir()), 1, "no file *.btf in this directory"},
		{verb("shared", kernel, "-o", p("x"), p("alone"), p("alone/m-1.btf")), 1,
			"both are the module m_1; pass each module of one kernel once"},
		{verb("stats", kernel, p("alone"), p("small")), 1, "both are the module m_1"},
		{verb("shared", kernel, "-o", p("x"), p("m-1.ko")), 1, ": the ELF file has no section .BTF"},
	} {
		code, stdout, stderr := btfdedup(c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
		if _, err := os.Stat(p("x")); err == nil {
			t.Errorf("%v: an output was written", c.args)
		}
	}
}
