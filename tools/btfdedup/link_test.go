package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/object"
)

// objectOf writes a BTF object with a unit for each source file, each with a static function of the
// file's name, such as "a" of "a.c".
func objectOf(t *testing.T, path string, sources ...string) {
	t.Helper()
	b := linktest.New()
	for _, source := range sources {
		b.Unit(source, 1)
		b.Hold(b.Struct("of_"+strings.TrimSuffix(source, ".c"), b.Hold(b.Int("int"))))
		b.Fn(strings.TrimSuffix(source, ".c"), 0, 0, b.Proto(0))
	}
	data, err := object.Write(b.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestObjectsOfOtherFiles links objects of which the linked file has nothing: a warning, with
// --strict an error.
func TestObjectsOfOtherFiles(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	var text bytes.Buffer
	known := &facts.Facts{AddrSize: 8, Machine: 62, HasFiles: true, Variables: facts.VariablesPerCPU,
		KfuncState: facts.KfuncsAbsent, Files: []facts.File{{Name: "k.c", Funcs: []string{"k"}}}}
	if err := known.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p("facts"), text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	objectOf(t, p("kernel"), "k.c")
	objectOf(t, p("one"), "a.c")
	objectOf(t, p("many"), "f.c", "e.c", "d.c", "c.c", "b.c", "a.c")
	for _, c := range []struct {
		args, told string
		code       int
	}{
		{"kernel", "", 0},
		{"--strict kernel", "", 0},
		{"kernel one", "warning: DIR/facts: 1 compilation unit has types in the result but no " +
			"function in the linked file, as its symbols tell: a.c (leave out ", 0},
		{"many kernel", ": 6 compilation units have types in the result but no function in the " +
			"linked file, as its symbols tell: a.c, b.c, c.c, d.c, e.c, ... (leave out ", 0},
		{"-q many kernel", "", 0},
		{"--strict kernel one", "btfdedup: DIR/facts: 1 compilation unit has ", 1},
	} {
		args := []string{"link", "--facts", p("facts"), "-o", p("out")}
		for _, arg := range strings.Fields(c.args) {
			if !strings.HasPrefix(arg, "-") {
				arg = p(arg)
			}
			args = append(args, arg)
		}
		os.Remove(p("out"))
		prog := program()
		var out, errs bytes.Buffer
		prog.Stdout, prog.Stderr = &out, &errs
		code := prog.Run(args)
		told := strings.ReplaceAll(errs.String(), dir, "DIR")
		if code != c.code || (c.told == "") != (told == "") || !strings.Contains(told, c.told) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", c.args, code, told, c.code, c.told)
		}
		if _, err := os.Stat(p("out")); (err == nil) != (c.code == 0) {
			t.Errorf("%s: exit code %d, output: %v", c.args, code, err)
		}
	}
}
