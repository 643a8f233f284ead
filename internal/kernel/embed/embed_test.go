package embed

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestMachines embeds BTF into objects and linked files for many machines, and checks that nothing
// else changes.
func TestMachines(t *testing.T) {
	for path, in := range programtest.Seeds(t, "../../format/elf/testdata/machines/*.gz") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := must.Get(elf.Parse("in", in))(t)
			types := someBTF(t, f.Order, "first", 3)
			out := must.Get(into(f, types, nil))(t)
			before, after := read(t, in), read(t, out)
			if after.places[btf.SectionTypes] != len(f.Sections) {
				t.Errorf(".BTF is section %d of %d", after.places[btf.SectionTypes], len(f.Sections))
			}
			sameBut(t, before, after)
			embedded := must.Get(elf.Parse("out", out))(t)
			s := embedded.Section(btf.SectionTypes)
			if !bytes.Equal(s.Raw(), types.Data) || s.Align != 1 || s.Flags != 0 ||
				s.Type != stdelf.SHT_PROGBITS {
				t.Errorf(".BTF: %+v", s)
			}
		})
	}
}

// sameBut checks that files differ only in .BTF, .BTF.base and what grows with these sections.
func sameBut(t *testing.T, before, after *content) {
	t.Helper()
	if before.header != after.header {
		t.Errorf("header %+v, was %+v", after.header, before.header)
	}
	if !reflect.DeepEqual(before.progs, after.progs) {
		t.Errorf("program headers %+v, were %+v", after.progs, before.progs)
	}
	if len(before.sections) != len(after.sections) {
		t.Fatalf("%d other sections, were %d", len(after.sections), len(before.sections))
	}
	for i, b := range before.sections {
		a := after.sections[i]
		shared := b.Name == ".strtab" && strings.HasPrefix(after.data[i], before.data[i])
		if shared { // clang writes the names of sections and symbols to the same table
			a.Size, a.FileSize = b.Size, b.FileSize
		}
		if a != b {
			t.Errorf("section %s: %+v, was %+v", b.Name, a, b)
		}
		if before.data[i] != after.data[i] && !shared {
			t.Errorf("the content of %s changed", b.Name)
		}
	}
	if !reflect.DeepEqual(before.symbols, after.symbols) {
		t.Error("symbols changed")
	}
}

const module = `
struct thing { int a; long b; } thing = { 1, 2 };
long use(struct thing *t) { return t->a + t->b; }
`

// TestHistory embeds twice: the result must not depend on what was embedded first.
func TestHistory(t *testing.T) {
	plain := open(t, programtest.Compile(t, module, "gcc", "-c", "-g"))
	small, large := someBTF(t, plain.Order, "small", 1), someBTF(t, plain.Order, "large", 50)
	base := someBTF(t, plain.Order, "base", 2)
	for _, second := range [][2]*Blob{{small}, {large}, {small, base}, {large, base}} {
		once := must.Get(into(plain, second[0], second[1]))(t)
		for _, first := range [][2]*Blob{{small}, {large}, {small, base}, {large, base}} {
			out, err := into(plain, first[0], first[1])
			must.OK(t, err)
			f, err := elf.Parse("first", out)
			must.OK(t, err)
			if out, err = into(f, second[0], second[1]); err != nil || !bytes.Equal(out, once) {
				t.Errorf("%d and %d bytes of BTF, then %d: not the same as the latter alone (%v)",
					len(first[0].Data), len(f.Bytes()), len(second[0].Data), err)
			}
		}
	}
}

// TestObjcopy compares the result with that of objcopy, called as in scripts/gen-btf.sh. If objcopy
// has already embedded the same BTF, Into changes nothing.
func TestObjcopy(t *testing.T) {
	for _, flags := range [][]string{{"-c", "-g"}, {"-c", "-g", "-m32"}, {"-g", "-shared"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			plain := programtest.Compile(t, module, "gcc", append(flags, "-nostdlib")...)
			f := open(t, plain)
			types, base := someBTF(t, f.Order, "types", 9), someBTF(t, f.Order, "base", 2)
			want := filepath.Join(t.TempDir(), "objcopy")
			programtest.Run(t, "", "objcopy", "--add-section", ".BTF="+write(t, "types", types.Data),
				"--add-section", ".BTF.base="+write(t, "base", base.Data), plain, want)
			theirs, err := os.ReadFile(want)
			must.OK(t, err)
			var from *Blob
			if f.Relocatable() {
				from = base
			}
			ours, err := into(f, types, from)
			must.OK(t, err)
			a, b := sectionsByName(t, theirs), sectionsByName(t, ours)
			for name, x := range a {
				if name == btf.SectionBase && from == nil {
					continue
				}
				if y, ok := b[name]; !ok || x != y && !strings.HasSuffix(name, "strtab") {
					t.Errorf("%s: %s, objcopy makes %s", name, y, x)
				}
			}
			if !f.Relocatable() {
				return
			}
			again, err := into(open(t, want), types, base)
			if err != nil || !bytes.Equal(again, theirs) {
				t.Errorf("objcopy's file changes: %d bytes, were %d: %v", len(again), len(theirs), err)
			}
			other := someBTF(t, f.Order, "other", 30)
			updated := filepath.Join(t.TempDir(), "updated")
			programtest.Run(t, "", "objcopy", "--update-section",
				".BTF="+write(t, "other", other.Data), want, updated)
			if theirs, err = os.ReadFile(updated); err != nil {
				t.Fatal(err)
			}
			if again, err = into(open(t, want), other, base); err != nil || !bytes.Equal(again, theirs) {
				t.Errorf("objcopy updates the section differently: %d bytes, ours are %d: %v", len(theirs),
					len(again), err)
			}
		})
	}
}

// sectionsByName describes the sections and their data.
func sectionsByName(t *testing.T, data []byte) map[string]string {
	t.Helper()
	f := must.Get(stdelf.NewFile(bytes.NewReader(data)))(t)
	all := map[string]string{}
	for _, s := range f.Sections {
		content := ""
		if s.Type != stdelf.SHT_NOBITS && s.Type != stdelf.SHT_NULL {
			raw := must.Get(s.Data())(t)
			content = string(raw)
		}
		if s.Type == stdelf.SHT_SYMTAB || s.Type == stdelf.SHT_REL || s.Type == stdelf.SHT_RELA ||
			s.Type == stdelf.SHT_GROUP {
			content = "" // objcopy renumbers sections and symbols
		}
		all[s.Name] = fmt.Sprint(s.Type, s.Flags, s.Addr, s.Addralign, s.Entsize, content)
	}
	return all
}

// TestReaders reads the embedded BTF with other programs.
func TestReaders(t *testing.T) {
	f := open(t, programtest.Compile(t, module, "gcc", "-c"))
	out := must.Get(into(f, someBTF(t, f.Order, "embedded", 2), nil))(t)
	path := write(t, "x.ko", out)
	for _, tt := range []struct{ args, want string }{
		{"bpftool btf dump file", "STRUCT 'embedded' size=8 vlen=2"},
		{"pahole -F btf", "struct embedded {"},
	} {
		t.Run(strings.Fields(tt.args)[0], func(t *testing.T) {
			args := strings.Fields(tt.args)
			got := programtest.Run(t, "", args[0], append(args[1:], path)...)
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s:\n%s", tt.args, got)
			}
		})
	}
}

// TestKernels embeds BTF into modules of distributions' kernels, if the cache of the end-to-end
// tests has some. Embedding a module's own BTF must change nothing; embedding other BTF must change
// nothing outside the BTF.
func TestKernels(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	files, _ := filepath.Glob(cache +
		"/rules_btf/debian/*/kernel/usr/lib/debug/lib/modules/*/kernel/*/*/*.ko")
	seen := map[stdelf.Machine]bool{}
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || info.Size() > 64<<20 {
			continue
		}
		f := open(t, path)
		own := f.Section(btf.SectionTypes)
		if own == nil || seen[f.Machine] {
			continue
		}
		seen[f.Machine] = true
		t.Run(f.Machine.String(), func(t *testing.T) {
			types := must.Get(NewBlob(path, own.Raw()))(t)
			if out, err := into(f, types, nil); err != nil || !bytes.Equal(out, f.Bytes()) {
				t.Errorf("%s with its own BTF differs: %v", path, err)
			}
			other := someBTF(t, f.Order, "other", 7)
			if _, err := into(f, other, nil); err == nil || !strings.Contains(err.Error(), "has no base") {
				t.Errorf("%s with BTF without a base: %v", path, err)
			}
			other.alone = false
			out := must.Get(into(f, other, nil))(t)
			before, after := read(t, f.Bytes()), read(t, out)
			if !reflect.DeepEqual(before.places, after.places) {
				t.Errorf("sections %v, were %v", after.places, before.places)
			}
			sameBut(t, before, after)
		})
	}
	if len(seen) == 0 {
		t.Skip("SKIPPED: no modules in the cache")
	}
}

func TestErrors(t *testing.T) {
	f := open(t, programtest.Compile(t, module, "gcc", "-c"))
	exe := open(t, programtest.Compile(t, module, "gcc", "-shared", "-nostdlib"))
	good, foreign := someBTF(t, f.Order, "good", 1), someBTF(t, binary.BigEndian, "foreign", 1)
	for _, tt := range []struct {
		f           *elf.File
		types, base *Blob
		want        string
	}{
		{f, foreign, nil, "foreign.btf: the BTF is big-endian, but " + f.Path + " is little-endian"},
		{f, good, foreign, "foreign.btf: the BTF is big-endian"},
		{exe, good, good, exe.Path + ": only modules have a distilled base, not linked files (ET_DYN)"},
	} {
		out, err := into(tt.f, tt.types, tt.base)
		if err == nil || !strings.Contains(err.Error(), tt.want) || out != nil {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if _, err := ObjectFile(f, foreign); err == nil ||
		!strings.Contains(err.Error(), "the BTF is big-endian") {
		t.Error(err)
	}
}

func TestNotBTF(t *testing.T) {
	good := someBTF(t, binary.LittleEndian, "good", 1).Data
	unended := bytes.Clone(good)
	unended[len(good)-1] = 'x'
	for _, tt := range []struct {
		data []byte
		want string
	}{
		{nil, "empty file, expected BTF"},
		{[]byte("# not BTF at all, but a text"), "no BTF magic"},
		{good[:len(good)-1], "ends after the data"},
		{append(bytes.Clone(good), 0), "1 byte after the last section"},
		{unended, "does not end with a NUL byte"},
	} {
		path := write(t, "x.btf", tt.data)
		if _, err := ReadBlob(path); err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	path := programtest.Compile(t, module, "gcc", "-c")
	if _, err := ReadBlob(path); err == nil || !strings.Contains(err.Error(), "an ELF file") {
		t.Error(err)
	}
}
