package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// inlinedFunctions are functions with sites, in the order in which sitesBTF makes them, and whether
// the BTF without sites keeps them for the object that inlineSource makes.
var inlinedFunctions = []struct {
	name string
	kept bool
}{
	{"only_inlined", false},
	{"undefined", false}, // its symbol belongs to another file
	{"data", false},      // its symbol isn't a function
	{"global", true},
	{"local", true},
	{"tagged", true},
	{"a", true}, // it is in .BTF_ids
}

const inlineSource = idsSource + `
	void undefined(void); asm(".type undefined, %function"); int data;
	void global(void) { undefined(); }
	__attribute__((used, noinline)) static void local(void) { data++; }`

// sitesBTF writes BTF with the types of idsTypes and sites of inlinedFunctions.
func sitesBTF(t *testing.T, path string, order binary.ByteOrder, base *btf.Blob) {
	t.Helper()
	b := btf.NewBuilder(order, base, nil)
	idsTypes(b)
	var sites []btf.Site
	for i, f := range inlinedFunctions {
		var id uint32
		if f.name == "a" { // the first function of idsTypes
			id = b.Blob.StartID + uint32(slices.IndexFunc(b.Blob.Types, func(t btf.Type) bool {
				return t.Kind == btf.KindFunc
			}))
		} else {
			result := b.Ref(btf.KindPtr, "", b.Composite(btf.KindStruct, "of_"+f.name, 4, false))
			id = b.Func(f.name, b.FuncProto(result), btf.LinkageStatic)
		}
		if f.name == "tagged" {
			b.DeclTag("tag", id, btf.DeclTagWhole)
		}
		sites = append(sites, btf.Site{Func: id, LocProto: b.LocProto(), Offset: uint32(4 * i)})
	}
	b.Locsec("inline.text", sites...)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	must.OK(t, os.WriteFile(path, data, 0o644))
}

// functionsIn lists the functions in BTF, but not in its base, sorted by name.
func functionsIn(t *testing.T, path string, base *btf.Blob) (*btf.Blob, []string) {
	t.Helper()
	b := must.Get(btf.ReadOne(path, base))(t)
	var names []string
	for i := range b.Types {
		if b.Types[i].Kind == btf.KindFunc {
			names = append(names, b.TypeName(&b.Types[i]))
		}
	}
	slices.Sort(names)
	return b, names
}

// TestResolveInline: --inline-out moves the sites and the functions that only they need, for a
// kernel, a module and a module with a distilled base, in both byte orders.
func TestResolveInline(t *testing.T) {
	for _, c := range []struct {
		compiler string
		order    binary.ByteOrder
	}{
		{"gcc", binary.LittleEndian},
		{"clang --target=s390x-linux-gnu", binary.BigEndian},
	} {
		t.Run(c.compiler, func(t *testing.T) {
			dir := t.TempDir()
			p := func(name string) string { return filepath.Join(dir, name) }
			argv := append(strings.Fields(c.compiler), "-O2", "-fno-pic", "-c")
			must.OK(t, os.Rename(programtest.Compile(t, inlineSource, argv[0], argv[1:]...), p("in")))
			b := btf.NewBuilder(c.order, nil, nil)
			b.Composite(btf.KindStruct, "bpf_prog_aux", 0, false)
			base := b.Finish()
			data, err := b.Encode(btf.EncodeOptions{})
			if err == nil {
				err = os.WriteFile(p("base"), data, 0o644)
			}
			must.OK(t, err)
			for _, on := range []*btf.Blob{nil, base} {
				resolveInline(t, p, c.order, on)
			}
		})
	}
}

func resolveInline(t *testing.T, p func(string) string, order binary.ByteOrder, on *btf.Blob) {
	sitesBTF(t, p("all"), order, on)
	run := func(verb string, args ...string) {
		t.Helper()
		if on != nil {
			args = append([]string{"--base", p("base")}, args...)
		}
		succeeds(t, "", append([]string{verb}, args...)...)
	}
	run("resolve-ids", "-o", p("out"), "--btf", p("all"), "--btf-out", p("main"), "--inline-out",
		p("sites"), p("in"))
	below, kept := functionsIn(t, p("main"), on)
	_, moved := functionsIn(t, p("sites"), below)
	wantKept, wantMoved := []string{"k", "k_impl"}, []string(nil)
	for _, f := range inlinedFunctions {
		if f.kept {
			wantKept = append(wantKept, f.name)
		} else {
			wantMoved = append(wantMoved, f.name)
		}
	}
	slices.Sort(wantKept)
	slices.Sort(wantMoved)
	if !slices.Equal(kept, wantKept) || !slices.Equal(moved, wantMoved) {
		t.Errorf("kept: %q, want %q; moved: %q, want %q", kept, wantKept, moved, wantMoved)
	}
	run("verify", p("main"))
	run("verify", "--base", p("main"), p("sites"))

	// The ids are those of the BTF without sites, as if it had been the input.
	run("resolve-ids", "-o", p("again"), "--btf", p("main"), "--btf-out", p("main2"), p("in"))
	if !sameFiles(t, p("out"), p("again")) || !sameFiles(t, p("main"), p("main2")) {
		t.Error("a second run on the result changes something")
	}
	// In one BTF, the sites can be taken apart later.
	run("resolve-ids", "-o", p("one.out"), "--btf", p("all"), "--btf-out", p("one"), p("in"))
	run("verify", p("one"))
	run("resolve-ids", "-o", p("again"), "--btf", p("one"), "--btf-out", p("main2"),
		"--inline-out", p("sites2"), p("in"))
	if !sameFiles(t, p("out"), p("again")) || !sameFiles(t, p("main"), p("main2")) {
		t.Error("a second run takes apart the sites differently")
	}
	for _, sites := range []string{"sites", "sites2"} {
		_, text, _ := btfdedup("dump", "--inline", "--base", p("base"), "--base", p("main"), p(sites))
		if on == nil {
			_, text, _ = btfdedup("dump", "--inline", "--base", p("main"), p(sites))
		}
		for i, f := range inlinedFunctions {
			if line := fmt.Sprintf(".text+%#x  %s()\n", 4*i, f.name); !strings.Contains(text, line) {
				t.Errorf("%s: no site %q in\n%s", sites, line, text)
			}
		}
	}
	if order != binary.LittleEndian {
		return
	}

	// embed keeps sites that are among the other types, and puts those of a file beside them.
	distilled := []string{"embed", "--btf-base", p("base"), "--resolve-ids", "--btf"}
	if on == nil {
		distilled = slices.Delete(distilled, 1, 3)
	}
	embed := func(args ...string) { succeeds(t, "", append(slices.Clone(distilled), args...)...) }
	embed(p("all"), "-o", p("embedded"), "--btf-out", p("one2"), p("in"))
	if !sameFiles(t, p("one"), p("one2")) {
		t.Error("embed and resolve-ids make different BTF")
	}
	embed(p("main"), "-o", p("embedded"), "--inline", p("sites"), p("in"))
	wantSection(t, p("embedded"), btf.SectionInline, p("sites"))
	wantSection(t, p("embedded"), btf.SectionTypes, p("main"))
}

// wantSection checks that a section has the content of a file.
func wantSection(t *testing.T, path, section, file string) {
	t.Helper()
	f, err := elf.Open(path)
	must.OK(t, err)
	defer f.Close()
	want, err := os.ReadFile(file)
	if s := f.Section(section); err != nil || s == nil || !bytes.Equal(s.Raw(), want) {
		t.Errorf("%s: section %s differs from %s: %v", path, section, file, err)
	}
}

// TestResolveInlineNone: without sites there is no file, not even an old one. In a stripped file,
// it isn't known which functions have code, so all stay.
func TestResolveInlineNone(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	object := compileIDs(t, dir, "ids.o", idsSource)
	types, _ := writeBTF(t, dir, "types.btf", nil, idsTypes)
	args := []string{"resolve-ids", "-o", p("out"), "--btf", types, "--btf-out", p("main"), object}
	succeeds(t, "", args...)
	want := must.Get(os.ReadFile(p("main")))(t)
	must.OK(t, os.WriteFile(p("sites"), []byte("old"), 0o644))
	succeeds(t, "", append(args, "--inline-out", p("sites"))...)
	if _, err := os.Stat(p("sites")); !os.IsNotExist(err) {
		t.Errorf("there is a file without sites: %v", err)
	}
	if got, err := os.ReadFile(p("main")); err != nil || !slices.Equal(got, want) {
		t.Errorf("--inline-out changes the types: %v", err)
	}
	succeeds(t, "", append(args, "--inline-out", os.DevNull)...)
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s: %v", os.DevNull, err)
	}
	code, _, stderr := btfdedup("resolve-ids", "-o", p("out"), "--btf", types, "--inline-out",
		p("sites"), object)
	if code != 2 || !strings.Contains(stderr, "--inline-out needs --btf-out") {
		t.Errorf("exit code %d, %s", code, stderr)
	}

	plain := compileIDs(t, dir, "plain.o", "void f(void) {}")
	programtest.Run(t, "", "strip", "-s", plain)
	sitesBTF(t, p("all"), binary.LittleEndian, nil)
	succeeds(t, "", "resolve-ids", "-o", p("out"), "--btf", p("all"), "--btf-out", p("main"),
		"--inline-out", p("sites"), plain)
	below, kept := functionsIn(t, p("main"), nil)
	if _, moved := functionsIn(t, p("sites"), below); len(moved) > 0 || len(kept) < 8 {
		t.Errorf("stripped: kept %q, moved %q", kept, moved)
	}
}
