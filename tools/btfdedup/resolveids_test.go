package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// idsSource has a set8 of two kfuncs, the first of which has KF_IMPLICIT_ARGS.
const idsSource = `asm(".pushsection .BTF_ids,\"a\"\n"
	"__BTF_ID__set8__s: .zero 4\n.long 1\n"
	"__BTF_ID__func__k__1: .zero 4\n.long 0x10001\n"
	"__BTF_ID__func__a__2: .zero 4\n.long 2\n"
	".size __BTF_ID__set8__s, . - __BTF_ID__set8__s\n"
	".popsection");`

// idsTypes adds the function a, the function k, which has an implicit argument, and the types that
// they need.
func idsTypes(b *btf.Builder) {
	aux := b.Ref(btf.KindPtr, "", b.Composite(btf.KindStruct, "bpf_prog_aux", 0, false))
	b.Func("a", b.FuncProto(0), btf.LinkageGlobal)
	k := b.Func("k", b.FuncProto(0, btf.Param{NameOff: b.Name("aux"), Type: aux}), btf.LinkageGlobal)
	b.DeclTag("bpf_kfunc", k, btf.DeclTagWhole)
}

// compileIDs compiles a source to an object, and returns the path of the object.
func compileIDs(t *testing.T, dir, name, source string) string {
	t.Helper()
	c := filepath.Join(dir, name+".c")
	must.OK(t, os.WriteFile(c, []byte(source), 0o644))
	o := filepath.Join(dir, name)
	programtest.Run(t, "", "gcc", "-c", "-o", o, c)
	return o
}

// wantIDs checks that a file's .BTF_ids consists of the wanted words.
func wantIDs(t *testing.T, path string, want ...uint32) {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	var got []uint32
	for raw := f.Section(btfids.SectionName).Raw(); len(raw) > 0; raw = raw[4:] {
		got = append(got, binary.LittleEndian.Uint32(raw))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %#x, want %#x", path, got, want)
	}
}

// idOf returns the id of a function in raw BTF, by name.
func idOf(t *testing.T, path, name string, base *btf.Blob) uint32 {
	t.Helper()
	b := must.Get(btf.ReadOne(path, base))(t)
	for i := range b.Types {
		if b.Types[i].Kind == btf.KindFunc && b.TypeName(&b.Types[i]) == name {
			return b.StartID + uint32(i)
		}
	}
	t.Fatalf("%s: no FUNC %s", path, name)
	return 0
}

func succeeds(t *testing.T, warning string, args ...string) {
	t.Helper()
	code, stdout, stderr := btfdedup(args...)
	if code != 0 || stdout != "" || (stderr == "") != (warning == "") ||
		!strings.Contains(stderr, warning) {
		t.Errorf("%q: exit code %d, want 0 and the warning %q\n%s%s", args, code, warning, stdout, stderr)
	}
}

func TestResolveIDs(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	object := compileIDs(t, dir, "ids.o", idsSource)
	types, _ := writeBTF(t, dir, "types.btf", nil, idsTypes)
	a, k := idOf(t, types, "a", nil), idOf(t, types, "k", nil)

	succeeds(t, `kfuncs such as "k" (1 in all)`, "resolve-ids",
		"-o", p("out"), "--btf", types, object)
	wantIDs(t, p("out"), 2, 1, a, 2, k, 0x10001)

	succeeds(t, "", "resolve-ids", "-o", p("out7"), "--btf", types, "--btf-out", p("types7.btf"),
		object)
	a7, k7 := idOf(t, p("types7.btf"), "a", nil), idOf(t, p("types7.btf"), "k", nil)
	wantIDs(t, p("out7"), 2, 1, a7, 2, k7, 0x10001)
	if impl := idOf(t, p("types7.btf"), "k_impl", nil); impl != k7+1 || k7 == k {
		t.Errorf("ids %d, %d; before: %d", k7, impl, k)
	}

	// Without the tag, --btf-out doesn't help.
	untagged, _ := writeBTF(t, dir, "untagged.btf", nil, func(b *btf.Builder) {
		idsTypes(b)
		b.Blob.Types = b.Blob.Types[:len(b.Blob.Types)-1]
	})
	succeeds(t, `kfuncs have the tag bpf_kfunc (the feature decl_tag_kfuncs)`, "resolve-ids",
		"-o", p("out8"), "--btf", untagged, "--btf-out", p("types8.btf"), object)

	// A file without the section is copied, whatever the BTF is.
	plain := compileIDs(t, dir, "plain.o", "int x;")
	succeeds(t, "", "resolve-ids", "-o", p("copy"), plain)
	if code, out, _ := btfdedup("diff", types, types); code != 0 {
		t.Error(out)
	}
	before, _ := os.ReadFile(plain)
	if after, err := os.ReadFile(p("copy")); err != nil || !slices.Equal(before, after) {
		t.Errorf("the copy differs: %v", err)
	}
}

// TestResolveIDsAgain: the old .BTF of a resolved module shows which function each flag belongs to.
func TestResolveIDsAgain(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	object := compileIDs(t, dir, "ids.o", idsSource)
	base, baseBlob := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	newBase, _ := writeBTF(t, dir, "new_base.btf", nil, func(b *btf.Builder) {
		b.Int("long", 8, 0, 0)
		b.Func("a", b.FuncProto(0), btf.LinkageGlobal)
	})
	types, _ := writeBTF(t, dir, "types.btf", baseBlob, func(b *btf.Builder) {
		b.Func("a", b.FuncProto(0), btf.LinkageGlobal)
		b.Func("k", b.FuncProto(0), btf.LinkageGlobal)
	})
	newTypes, _ := writeBTF(t, dir, "new_types.btf", nil, func(b *btf.Builder) {
		b.Func("k", b.FuncProto(0), btf.LinkageGlobal)
		b.Func("a", b.FuncProto(0), btf.LinkageGlobal)
	})
	succeeds(t, "", "resolve-ids", "-o", p("first.o"), "--base", base, "--btf", types, object)
	a, k := idOf(t, types, "a", baseBlob), idOf(t, types, "k", baseBlob)
	wantIDs(t, p("first.o"), 2, 1, a, 2, k, 0x10001)

	_, _, stderr := btfdedup("resolve-ids", "-o", p("x"), "--btf", newTypes, p("first.o"))
	if !strings.Contains(stderr, "first.o: section .BTF_ids has already been resolved") ||
		!strings.Contains(stderr, "no section .BTF") {
		t.Errorf("the error doesn't name the file and the missing section: %s", stderr)
	}
	module := p("module.ko")
	programtest.Run(t, "", "objcopy", "--add-section", ".BTF="+types, p("first.o"), module)
	succeeds(t, "", "resolve-ids", "-o", p("same.ko"), "--base", base, module)
	wantIDs(t, p("same.ko"), 2, 1, a, 2, k, 0x10001)
	succeeds(t, "", "resolve-ids", "-o", p("second.ko"), "--btf", newTypes, "--old-base", base, module)
	wantIDs(t, p("second.ko"), 2, 1, 2, 0x10001, 4, 2)
	code, _, stderr := btfdedup("resolve-ids", "-o", p("x"), "--btf", newTypes, "--old-base", newBase,
		module)
	if code != 1 || !strings.Contains(stderr, "was it made with a different base?") {
		t.Errorf("wrong old base: %d %s", code, stderr)
	}
	if _, err := os.Stat(p("x")); err == nil {
		t.Error("there is an output in spite of errors")
	}
}

func TestResolveIDsFails(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	object := compileIDs(t, dir, "ids.o", idsSource)
	types, _ := writeBTF(t, dir, "types.btf", nil, idsTypes)
	few, _ := writeBTF(t, dir, "few.btf", nil, func(b *btf.Builder) {
		b.Func("a", b.FuncProto(0), btf.LinkageGlobal)
	})
	data := must.Get(os.ReadFile(object))(t)
	signed := p("signed.ko")
	data = append(data, "~Module signature appended~\n"...)
	must.OK(t, os.WriteFile(signed, data, 0o644))
	must.OK(t, os.WriteFile(p("out"), []byte("old"), 0o644))
	for _, test := range []struct {
		want string
		args []string
	}{
		{"or specify the BTF with --btf", []string{object}},
		{`ids.o: section .BTF_ids: symbol "__BTF_ID__func__k__1" at offset 0x8: ` +
			`the BTF has no FUNC "k"; its id is 0 (1 such warnings, which are errors with --fatal-warnings)`,
			[]string{"--fatal-warnings", "--btf", few, object}},
		{`such as "k" (1 in all)`, []string{"--fatal-warnings", "--btf", types, object}},
		{"signed.ko: the kernel module is signed",
			[]string{"--btf", types, "--btf-out", p("new.btf"), signed}},
		{"types.btf: raw BTF (little-endian), not an ELF file", []string{"--btf", types, types}},
	} {
		code, stdout, stderr := btfdedup(append([]string{"resolve-ids", "-o", p("out")}, test.args...)...)
		if code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 ||
			!strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d, want 1 and %q\n%s%s", test.args, code, test.want, stdout, stderr)
		}
		if old, err := os.ReadFile(p("out")); err != nil || string(old) != "old" {
			t.Errorf("%q: the output was changed: %v", test.args, err)
		}
	}
	if _, err := os.Stat(p("new.btf")); err == nil {
		t.Error("--btf-out was written in spite of an error")
	}
	succeeds(t, `the BTF has no FUNC "k"`, "resolve-ids", "-o", p("out"), "--btf", few, object)
	wantIDs(t, p("out"), 2, 1, 0, 0x10001, idOf(t, few, "a", nil), 2)
}
