package main

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestModulesOfLinkedBTF: a vmlinux with linked BTF but without DWARF can be passed as --base, but
// not as an input.
func TestModulesOfLinkedBTF(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("int", 4, 0, 0)
	b.Datasec(".data..percpu", 4, btf.Secinfo{Type: b.Var("v", 1, btf.LinkageGlobal), Size: 4})
	raw := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	object := filetest.ELF(t, elfwrite.Section{Name: ".BTF", Data: raw})
	writeFile(t, p("raw"), string(raw))
	writeFile(t, p("linked.ko"), string(object))
	object[16] = byte(elf.ET_EXEC) // e_type
	writeFile(t, p("vmlinux"), string(object))
	ko := programtest.Modules(t, dir, 1)[0]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{p("vmlinux"), ko}, p("vmlinux") +
			": it has no DWARF, but BTF that is already linked (section \".data..percpu\" has a size, " +
			"but compilers write 0): pass the file as --base"},
		{[]string{"--base", p("raw"), p("linked.ko")}, "pass the module from the package with debug"},
		{[]string{"--base", p("vmlinux"), ko}, ""},
	} {
		code, errs := runVerb(append([]string{"modules", "-q", "-o", p("out")}, c.args...)...)
		if (code == 0) != (c.want == "") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d: %s", c.args, code, errs)
		}
	}
}

// TestModulesWithDebugFiles: the debug files of stripped modules are found next to them, unless the
// search is turned off.
func TestModulesWithDebugFiles(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := programtest.Modules(t, dir, 4)
	kernelBTF(t, p("vmlinux.btf"))
	modules := func(out string, flags ...string) (int, string) {
		return runVerb(append(append([]string{"modules", "-j3", "--base", p("vmlinux.btf"), "-o", p(out)},
			flags...), kos...)...)
	}
	if code, errs := modules("whole", "-q"); code != 0 {
		t.Fatal(errs)
	}
	for _, ko := range kos {
		programtest.Run(t, dir, "objcopy", "--only-keep-debug", ko, ko+".debug")
		programtest.Run(t, dir, "objcopy", "--strip-debug", "--add-gnu-debuglink="+ko+".debug", ko)
	}
	if code, errs := modules("found", "-v"); code != 0 ||
		strings.Count(errs, ".ko.debug") != len(kos) {
		t.Errorf("exit code %d, or a debug file isn't reported: %s", code, errs)
	}
	for _, ko := range kos {
		name := strings.TrimSuffix(filepath.Base(ko), ".ko") + ".btf"
		want := must.Get(os.ReadFile(p("whole/" + name)))(t)
		if got, err := os.ReadFile(p("found/" + name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the BTF differs from that before it was stripped (%v)", name, err)
		}
	}
	// In a directory, a module and its debug file are one module.
	if code, errs := runVerb("modules", "-q", "--base", p("vmlinux.btf"), "-o", p("tree"),
		dir); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	} else if made, _ := filepath.Glob(p("tree/*.btf")); len(made) != len(kos) {
		t.Errorf("written: %v", made)
	}
	if code, errs := modules("none", "-q", "--debug-dir="); code != 1 ||
		strings.Count(errs, "the DWARF was moved to") != len(kos) {
		t.Errorf("--debug-dir=: exit code %d: %s", code, errs)
	}
}
