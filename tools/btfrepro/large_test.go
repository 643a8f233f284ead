package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// largeLogs writes two logs of 10,000 actions each. They differ in one argument, in ten random
// outputs, and in a header that all actions include.
func largeLogs(t testing.TB) (a, b string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, e execlogtest.Edits) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, execlogtest.Large(10000, e).Zstd(t), 0o644))
		return path
	}
	return write("a.log", execlogtest.Edits{Order: 1, Random: 10, Flag: "-j1"}),
		write("b.log", execlogtest.Edits{Order: 2, Random: 10, Flag: "-j2", Header: true})
}

// run runs the tool, and returns its exit code, standard output and standard error.
func run(args ...string) (int, string, string) {
	var stdout, stderr bytes.Buffer
	return cli.Execute(program, args, nil, &stdout, &stderr), stdout.String(), stderr.String()
}

func TestLarge(t *testing.T) {
	a, b := largeLogs(t)
	code, stdout, stderr := run("diff", a, b)
	for _, want := range []string{
		"source file include/linux/h0.h\n       in 4901 actions directly, 5099 downstream",
		"argument: -j1 vs -j2\n       in 1 action directly\n",
		"\n10000 of 10000 actions differ (",
	} {
		if code != 1 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, no %q in\n%.2000s%s", code, want, stdout, stderr)
		}
	}
	again := filepath.Join(t.TempDir(), "again.log")
	if data, err := os.ReadFile(a); err != nil || os.WriteFile(again, data, 0o644) != nil {
		t.Fatal(err)
	}
	code, stdout, _ = run("diff", a, again)
	if code != 0 || !strings.Contains(stdout, "same: 10000 actions") {
		t.Errorf("a log and its copy: exit code %d\n%.2000s", code, stdout)
	}
}

// BenchmarkLarge compares two logs of 10,000 actions, and writes the reports.
func BenchmarkLarge(b *testing.B) {
	x, y := largeLogs(b)
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		code, _, stderr := run("diff", "--json="+dir+"/json", x, y)
		if code != 1 {
			b.Fatal(code, stderr)
		}
	}
}
