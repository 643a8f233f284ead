package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// objectOf writes a BTF object with a unit for each source file, each with a static function named
// after the file, such as "a" for "a.c".
func objectOf(t *testing.T, path string, sources ...string) {
	t.Helper()
	b := linktest.New()
	for _, source := range sources {
		b.Unit(source, 1)
		b.Hold(b.Struct("of_"+strings.TrimSuffix(source, ".c"), b.Hold(b.Int("int"))))
		b.Fn(strings.TrimSuffix(source, ".c"), 0, 0, b.Proto(0))
	}
	data := must.Get(object.Write(b.Object, 1))(t)
	must.OK(t, os.WriteFile(path, data, 0o644))
}

// TestObjectsOfOtherFiles links objects of which the linked file contains nothing. This gives a
// warning, or with --strict an error.
func TestObjectsOfOtherFiles(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	var text bytes.Buffer
	known := &facts.Facts{AddrSize: 8, Machine: 62, HasFiles: true, Variables: facts.VariablesPerCPU,
		KfuncState: facts.KfuncsAbsent, Files: []facts.File{{Name: "k.c", Funcs: []string{"k"}}}}
	must.OK(t, known.Write(&text))
	must.OK(t, os.WriteFile(p("facts"), text.Bytes(), 0o644))
	objectOf(t, p("kernel"), "k.c")
	objectOf(t, p("one"), "a.c")
	objectOf(t, p("many"), "f.c", "e.c", "d.c", "c.c", "b.c", "a.c")
	for _, c := range []struct {
		args, told string
		code       int
	}{
		{"kernel", "", 0},
		{"--strict kernel", "", 0},
		{"kernel one", "warning: DIR/facts: 1 compilation unit is left out, as none of its " +
			"functions is in the linked file, according to that file's symbols: a.c (don't pass ", 0},
		{"many kernel", ": 6 compilation units are left out, as none of their functions is in " +
			"the linked file, according to that file's symbols: a.c, b.c, c.c, d.c, e.c, ... (don't ", 0},
		{"-q many kernel", "", 0},
		{"--strict kernel one", "btfdedup: DIR/facts: 1 compilation unit is ", 1},
	} {
		args := []string{"link", "--facts", p("facts"), "-o", p("out")}
		for _, arg := range strings.Fields(c.args) {
			if !strings.HasPrefix(arg, "-") {
				arg = p(arg)
			}
			args = append(args, arg)
		}
		os.Remove(p("out"))
		var out, errs bytes.Buffer
		code := cli.Execute(program, args, nil, &out, &errs)
		told := strings.ReplaceAll(errs.String(), dir, "DIR")
		if code != c.code || (c.told == "") != (told == "") || !strings.Contains(told, c.told) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", c.args, code, told, c.code, c.told)
		}
		if _, err := os.Stat(p("out")); (err == nil) != (c.code == 0) {
			t.Errorf("%s: exit code %d, output: %v", c.args, code, err)
		}
	}
}

// TestFactsOfAnotherMachine links objects with facts for a different machine, and on a base for a
// different machine. The error is one line that names both files and both machines.
func TestFactsOfAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	objectOf(t, p("kernel"), "k.c")
	raw := linktest.New()
	raw.Unit("k.c", 1)
	raw.Fn("k", 0, 0, raw.Proto(raw.Hold(raw.Int("int"))))
	raw.Target.Machine = 183
	other := must.Get(link.Link([]*object.Object{raw.Object}, link.Options{}))(t)
	write(t, p("raw"), other.BTF)
	write(t, p("arm64"), filetest.Bytes(t, elfwrite.File{AddrSize: 8,
		Order: binary.LittleEndian, Machine: 183,
		Sections: []elfwrite.Section{{Name: ".BTF", Data: other.BTF}}}))
	x86 := facts.Facts{AddrSize: 8, Machine: 62, HasFiles: true, Variables: facts.VariablesPerCPU,
		KfuncState: facts.KfuncsAbsent, Files: []facts.File{{Name: "k.c", Funcs: []string{"k"}}}}
	const told = "the objects are for EM_X86_64, 64-bit, LittleEndian, but the facts DIR/facts are " +
		"about a file for "
	for _, c := range []struct {
		what   string
		change func(f *facts.Facts)
		args   string
		want   string
	}{
		{"the same", func(*facts.Facts) {}, "kernel", ""},
		{"machine", func(f *facts.Facts) { f.Machine = 183 }, "kernel",
			told + "EM_AARCH64, 64-bit, LittleEndian; use the facts of the file"},
		{"address size", func(f *facts.Facts) { f.AddrSize = 4 }, "kernel",
			told + "EM_X86_64, 32-bit, LittleEndian; use the facts of the file"},
		{"byte order", func(f *facts.Facts) { f.BigEndian = true }, "kernel",
			told + "EM_X86_64, 64-bit, BigEndian; use the facts of the file"},
		{"raw BTF doesn't name the machine", func(*facts.Facts) {}, "raw", ""},
		{"raw BTF shows the byte order", func(f *facts.Facts) { f.BigEndian = true }, "raw",
			"EM_X86_64, 64-bit, BigEndian; use the facts of the file"},
		{"the base of another machine", func(*facts.Facts) {}, "--base arm64 kernel",
			"the base DIR/arm64 is for EM_AARCH64, but the split BTF is for EM_X86_64; use the BTF of"},
	} {
		known := x86
		c.change(&known)
		var text bytes.Buffer
		must.OK(t, known.Write(&text))
		must.OK(t, os.WriteFile(p("facts"), text.Bytes(), 0o644))
		args := []string{"link", "-q", "--facts", p("facts"), "-o", p("out")}
		for _, arg := range strings.Fields(c.args) {
			if !strings.HasPrefix(arg, "-") {
				arg = p(arg)
			}
			args = append(args, arg)
		}
		var out, errs bytes.Buffer
		code := cli.Execute(program, args, nil, &out, &errs)
		message := strings.ReplaceAll(errs.String(), dir, "DIR")
		file := "btfdedup: DIR/" + args[len(args)-1][len(dir)+1:] + ": "
		if (code != 0) != (c.want != "") || !strings.Contains(message, c.want) ||
			c.want != "" && (!strings.HasPrefix(message, file) || strings.Count(message, "\n") != 1) {
			t.Errorf("%s: exit code %d, %q; want %q", c.what, code, message, c.want)
		}
	}
}
