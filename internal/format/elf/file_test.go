package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

const smallC = `
struct point { int x, y; } origin = { 1, 2 };
static int count;
int first_function(struct point *p) { return p->x + ++count; }
int second_function(struct point *p) { return p->y; }
`

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	whole := must.Get(os.ReadFile(compile(t, smallC, "-g")))(t)
	for _, tt := range []struct{ name, content, want string }{
		{"empty", "", "empty file, expected an ELF file"},
		{"text", "int x;\n", `not an ELF file (starts with "int ")`},
		{"image", "MZ\x00\x00", "a kernel image or another EFI program, not an ELF file; pass vmlinux"},
		{"bitcode", "BC\xc0\xde\x35\x14", "LLVM bitcode"},
		{"wrapper", "\xde\xc0\x17\x0b\x00", "LLVM bitcode"},
		{"archive", archiveMagic, "an ar archive"},
		{"thin", thinMagic, "a thin ar archive"},
		{"gzip", "\x1f\x8b\x08", "gzip -d"},
		{"xz", "\xfd7zXZ\x00", "xz -d"},
		{"zstd", "\x28\xb5\x2f\xfd", "zstd -d"},
		{"short", string(whole[:10]), "truncated ELF header"},
		{"header only", string(whole[:64]), "truncated: section headers"},
		{"half", string(whole[:len(whole)/2]), "truncated"},
		{"class", "\x7fELF\x05" + string(whole[5:]), "class 5"},
		{"order", "\x7fELF\x02\x03" + string(whole[6:]), "data encoding 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, "input")
			write(t, path, tt.content)
			_, err := Open(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one with the path and %q", err, tt.want)
			}
		})
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(os.DevNull); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("device: %v", err)
	}
	fifo := filepath.Join(dir, "fifo")
	must.OK(t, unix.Mkfifo(fifo, 0o666))
	if _, err := Open(fifo); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("FIFO without a writer: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
}

// TestAgainstStandardLibrary compares sections and symbols with debug/elf.
func TestAgainstStandardLibrary(t *testing.T) {
	obj := compile(t, smallC, "-g")
	exe := filepath.Join(filepath.Dir(obj), "exe")
	programtest.Run(t, "", "ld", "-e", "0", "--emit-relocs", "-o", exe, obj)
	for _, path := range []string{obj, exe} {
		f := open(t, path)
		std := must.Get(stdelf.Open(path))(t)
		defer std.Close()
		if f.Machine != std.Machine || f.Type != std.Type || f.Order != std.ByteOrder ||
			len(f.Sections) != len(std.Sections) {
			t.Errorf("%s: header %v %v %v", path, f.Machine, f.Type, f.Order)
		}
		for i, s := range f.Sections {
			w := std.Sections[i]
			if s.Name != w.Name || s.Type != w.Type || s.Flags != w.Flags || s.Size != w.FileSize ||
				s.Offset != w.Offset || s.Link != w.Link || s.Info != w.Info {
				t.Errorf("%s: section %+v, want %+v", path, s, w.SectionHeader)
			}
			if !f.Relocatable() && s.Addr != w.Addr {
				t.Errorf("%s: %s at %#x, want %#x", path, s.Name, s.Addr, w.Addr)
			}
			if !f.Relocatable() && !s.Plain() {
				t.Errorf("%s: %s would be relocated a second time", path, s.Name)
			}
			if w.Type == stdelf.SHT_NOBITS || !s.Plain() {
				continue
			}
			want, _ := w.Data()
			if !bytes.Equal(content(t, s), want) {
				t.Errorf("%s: content of %s differs", path, s.Name)
			}
		}
		want := must.Get(std.Symbols())(t)
		got := symbolsOf(t, f)
		if len(got) != len(want) {
			t.Fatalf("%d symbols, want %d", len(got), len(want))
		}
		for i, g := range got {
			w := want[i]
			value := w.Value
			if f.Relocatable() && g.Section > 0 {
				value += f.Sections[g.Section].Addr
			}
			if g.Name != w.Name || g.Value != value || g.Size != w.Size || g.Type != w.Info&15 ||
				g.Bind != w.Info>>4 || g.Section >= 0 && g.Section != int32(w.Section) {
				t.Errorf("%s: symbol %+v, want %+v", path, g, w)
			}
		}
	}
}

func TestSymbolFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.c", "b.c"} {
		write(t, filepath.Join(dir, name), strings.ReplaceAll(
			`static int same = 1; int *X(void) { return &same; }
			extern int undefined; int *uX(void) { return &undefined; }`, "X", name[:1]))
	}
	programtest.Run(t, dir, "gcc", "-c", "-fno-pic", "a.c", "b.c")
	programtest.Run(t, dir, "ld", "-r", "-o", "ab.o", "a.o", "b.o")
	syms := symbolsOf(t, open(t, filepath.Join(dir, "ab.o")))
	var got, files []string
	for _, s := range syms {
		if s.Type == uint8(stdelf.STT_FILE) {
			files = append(files, s.Name)
		}
	}
	for _, s := range syms {
		if s.Name == "same" || s.Name == "a" || s.Name == "undefined" {
			file := ""
			if s.FileIndex >= 0 {
				file = files[s.FileIndex]
			}
			got = append(got, fmt.Sprintf("%s %q %d %d", s.Name, file, s.FileIndex, s.Place))
		}
	}
	want := `same "a.c" 0 0, same "b.c" 1 0, undefined "" -1 1, a "" -1 0`
	var sorted []string
	for _, p := range strings.Split(want, ", ") {
		for _, g := range got {
			if g == p {
				sorted = append(sorted, g)
			}
		}
	}
	if strings.Join(sorted, ", ") != want || len(got) != 4 {
		t.Errorf("symbols %q, want %s", got, want)
	}
}

func TestLayout(t *testing.T) {
	f := open(t, compile(t, smallC+"int big[5000] __attribute__((aligned(4096)));",
		"-ffunction-sections"))
	var last *Section
	for _, s := range f.Sections[1:] {
		if !s.Alloc() {
			if s.Addr != 0 {
				t.Errorf("%s: not allocated, but at %#x", s.Name, s.Addr)
			}
			continue
		}
		if s.Align > 1 && s.Addr%s.Align != 0 || s.Addr < layoutStart {
			t.Errorf("%s: at %#x, alignment %d", s.Name, s.Addr, s.Align)
		}
		if last != nil && s.Addr < last.Addr+last.Size+layoutGap {
			t.Errorf("%s at %#x is too near to %s, which ends at %#x", s.Name, s.Addr, last.Name,
				last.Addr+last.Size)
		}
		for addr, want := range map[uint64]*Section{s.Addr: s, s.Addr - 1: nil, s.Addr + s.Size/2: s,
			s.Addr + s.Size + 1: nil} {
			if got := f.SectionAt(addr); got != want {
				t.Errorf("SectionAt(%#x) = %v, want %v", addr, got, want)
			}
		}
		last = s
	}
	if f.SectionAt(0) != nil || f.SectionAt(^uint64(0)) != nil {
		t.Error("an address outside has a section")
	}
}

func TestLayoutErrors(t *testing.T) {
	for _, tt := range []struct {
		sec  testSection
		want string
	}{
		{testSection{name: ".bss", typ: stdelf.SHT_NOBITS, flags: stdelf.SHF_ALLOC, size: 1 << 63},
			"do not fit in the address space"},
		{testSection{name: ".bss", typ: stdelf.SHT_NOBITS, flags: stdelf.SHF_ALLOC, align: 1 << 63},
			"does not fit in the address space"},
		{testSection{name: ".bss", typ: stdelf.SHT_NOBITS, flags: stdelf.SHF_ALLOC, align: 3},
			"not a power of two"},
		{testSection{name: ".rela", typ: stdelf.SHT_RELA, info: 9}, "relocates section 9, past the last; " +
			"build or copy the file again"},
	} {
		_, err := Parse("x.o", buildELF(stdelf.ET_REL, stdelf.EM_X86_64, []testSection{tt.sec}))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func TestSectionAtOverlap(t *testing.T) {
	alloc := func(name string, addr, size uint64) testSection {
		return testSection{name: name, typ: stdelf.SHT_NOBITS, flags: stdelf.SHF_ALLOC, addr: addr,
			size: size}
	}
	f := must.Get(Parse("x", buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, []testSection{
		alloc("all", 0x100, 0x100), alloc("inner", 0x140, 0x10), alloc("empty", 0x160, 0), alloc("edge",
			0x200, 0), alloc("percpu", 0, 0x20),
	})))(t)
	for addr, want := range map[uint64]string{0: "percpu", 0x1f: "percpu", 0x20: "", 0x100: "all",
		0x13f: "all", 0x140: "inner", 0x150: "all",
		0x160: "all", 0x1ff: "all", 0x200: "edge", 0x201: ""} {
		got := ""
		if s := f.SectionAt(addr); s != nil {
			got = s.Name
		}
		if got != want {
			t.Errorf("SectionAt(%#x) = %q, want %q", addr, got, want)
		}
	}
}

// TestManySections reads a file whose section numbers do not fit in 16 bits.
func TestManySections(t *testing.T) {
	const n = 70_000
	var src bytes.Buffer
	for i := range n {
		fmt.Fprintf(&src, ".section .data.v%d,\"aw\"\nv%d: .byte 1\n", i, i)
	}
	src.WriteString(".section .debug_x,\"\",@progbits\n.quad v0\n.quad v69999\n")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.s"), src.String())
	programtest.Run(t, dir, "as", "-o", "x.o", "x.s")
	f := open(t, filepath.Join(dir, "x.o"))
	if len(f.Sections) < n {
		t.Fatalf("%d sections", len(f.Sections))
	}
	s := f.Section(".data.v69999")
	data := content(t, f.Section(".debug_x"))
	if got := f.Order.Uint64(data[8:]); s == nil || got != s.Addr || f.SectionAt(got) != s {
		t.Errorf("relocated to %#x, want %v", got, s)
	}
	found := 0
	for _, sym := range symbolsOf(t, f) {
		if strings.HasPrefix(sym.Name, "v") {
			if f.Sections[sym.Section].Name != ".data."+sym.Name {
				t.Fatalf("%s in %s", sym.Name, f.Sections[sym.Section].Name)
			}
			found++
		}
	}
	if found != n {
		t.Errorf("%d symbols, want %d", found, n)
	}
}

// TestGroups reads a file in which several sections have the same name, because
// -fdebug-types-section puts each type unit into its own COMDAT group.
func TestGroups(t *testing.T) {
	f := open(t, compile(t, smallC+"struct other { long a; } o;", "-gdwarf-5",
		"-fdebug-types-section"))
	infos := f.SectionsNamed(".debug_info")
	if len(infos) != 3 || f.Section(".debug_info") != infos[0] {
		t.Fatalf("%d sections, want 2 type units and a compile unit", len(infos))
	}
	for _, s := range infos {
		data := content(t, s)
		if n := f.Order.Uint32(data); int(n) != len(data)-4 {
			t.Errorf("section %d: unit length %d in %d bytes", s.Index, n, len(data))
		}
	}
}

func TestReadAt(t *testing.T) {
	path := compile(t, smallC, "-g")
	for _, large := range []bool{false, true} {
		if large { // so that pread is used
			fd := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
			must.Get(fd.Write(make([]byte, keepOpenSize)))(t)
			fd.Close()
		}
		f := open(t, path)
		if (f.m.fd != nil) != large {
			t.Errorf("descriptor kept: %v, want %v", f.m.fd != nil, large)
		}
		for _, name := range []string{".debug_info", ".debug_abbrev", ".text"} {
			s := f.Section(name)
			want := content(t, s)
			got, err := io.ReadAll(io.NewSectionReader(s, 0, int64(len(want))+10))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: ReadAt gives different bytes than Data (%v)", name, err)
			}
			n, err := s.ReadAt(make([]byte, 8), int64(len(want))-3)
			if n != 3 || err != io.EOF {
				t.Errorf("%s: at the end: %d, %v", name, n, err)
			}
			if _, err := s.ReadAt(make([]byte, 8), int64(len(want))); err != io.EOF {
				t.Errorf("%s: after the end: %v", name, err)
			}
			if _, err := s.ReadAt(make([]byte, 8), -1); err == nil {
				t.Errorf("%s: negative offset accepted", name)
			}
		}
	}
}

// TestLargeFile relocates with pread in several pieces, in several goroutines.
func TestLargeFile(t *testing.T) {
	const n = 3*chunkEntries + 5
	dir := t.TempDir()
	path := filepath.Join(dir, "x.o")
	write(t, filepath.Join(dir, "x.s"), fmt.Sprintf(`
	.data
start:	.rept %d
	.byte 1
	.endr
	.section .debug_x,"",@progbits
	.set i,0
	.rept %d
	.quad start+i
	.set i,i+1
	.endr
`, n, n))
	programtest.Run(t, dir, "as", "-o", "x.o", "x.s")
	must.OK(t, os.Truncate(path, keepOpenSize))
	f := open(t, path)
	s := f.Section(".debug_x")
	if len(s.relocs) != 1 || len(s.relocs[0].raw) != 24*n || f.m.fd == nil {
		t.Fatal("not the file that the test needs")
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			data, err := s.Data()
			if err != nil {
				t.Error(err)
				return
			}
			for i := range n {
				if got, want := f.Order.Uint64(data[8*i:]), f.Section(".data").Addr+uint64(i); got != want {
					t.Errorf("number %d is %#x, want %#x", i, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestTruncatedSection: a section that was cut off never reads as empty, neither for the first
// caller nor for later callers, whether it is read through the mapping or with pread.
func TestTruncatedSection(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	object := must.Get(os.ReadFile(compile(t, smallC, "-g")))(t)
	for _, size := range []int64{int64(len(object)), keepOpenSize} {
		path := filepath.Join(t.TempDir(), "x.o")
		write(t, path, string(object))
		must.OK(t, os.Truncate(path, size))
		f := must.Get(Open(path))(t)
		s := f.Section(".debug_info")
		if s.Plain() || (f.m.fd == nil) != (size < keepOpenSize) {
			t.Fatal("not the file that the test needs")
		}
		must.OK(t, os.Truncate(path, 0))
		for try := range 2 {
			func() {
				defer func() { recover() }()
				if data, err := s.Data(); err == nil {
					t.Errorf("%d bytes, attempt %d: no error, and %d bytes", size, try+1, len(data))
				}
			}()
		}
		f.Close()
		if err := mapped.Check(); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("after Close: %v", err)
		}
		mapped.Reset()
	}
}

func TestSymbolErrors(t *testing.T) {
	sym := func(name uint32, shndx uint16) []byte {
		b := make([]byte, 48)
		binary.LittleEndian.PutUint32(b[24:], name)
		binary.LittleEndian.PutUint16(b[30:], shndx)
		return b
	}
	strtab := testSection{name: ".strtab", typ: stdelf.SHT_STRTAB, data: []byte("\x00ok\x00end")}
	for _, tt := range []struct {
		sec  testSection
		want string
	}{
		{testSection{data: sym(1, 1), link: 2}, ""},
		{testSection{data: sym(4, 1), link: 2}, "not a string"},
		{testSection{data: sym(99, 1), link: 2}, "not a string"},
		{testSection{data: sym(1, 77), link: 2}, "its section is 77, past the last"},
		{testSection{data: sym(1, 0xffff), link: 2}, "SHT_SYMTAB_SHNDX, which is missing"},
		{testSection{data: sym(1, 1)[:47], link: 2}, "not a multiple"},
		{testSection{data: sym(1, 1), link: 9}, "string table is section 9, past the last"},
	} {
		tt.sec.name, tt.sec.typ = ".symtab", stdelf.SHT_SYMTAB
		f, err := Parse("x.o", buildELF(stdelf.ET_REL, stdelf.EM_X86_64, []testSection{tt.sec, strtab}))
		must.OK(t, err)
		syms, err := f.Symbols()
		switch {
		case tt.want == "" && (err != nil || len(syms.List) != 1 || syms.Name(&syms.List[0]) != "ok"):
			t.Errorf("%v, %v", syms, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
