package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// exercise reads everything that a file has.
func exercise(f *File) {
	_ = f.KernelRelease()
	if functions, err := f.Functions(); err == nil {
		for _, fn := range functions.List {
			_ = functions.Symbols.Name(&functions.Symbols.List[fn.Symbol])
		}
	}
	for _, s := range f.Sections {
		data, err := s.Data()
		if err == nil && s.Plain() && len(data) > 0 {
			_, _ = s.ReadAt(make([]byte, 1), int64(len(data)-1))
		}
		_ = f.SectionAt(s.Addr + s.Size/2)
		_ = f.SectionsNamed(s.Name)
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range programtest.Seeds(f, "testdata/machines/*.gz") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz", data)
		if err != nil {
			return
		}
		exercise(file)
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzCompressed reads a section that is compressed in the gABI or GNU form. The content must not
// exceed the limit.
func FuzzCompressed(f *testing.F) {
	text := bytes.Repeat([]byte("hello "), 100)
	head := make([]byte, 24)
	binary.LittleEndian.PutUint64(head[8:], uint64(len(text)))
	for kind, body := range [][]byte{1: zlibBytes(f, text), 2: zstdBytes(f, text)} {
		head[0] = byte(kind)
		f.Add(append(bytes.Clone(head), body...))
	}
	f.Add(append(binary.BigEndian.AppendUint64([]byte("ZLIB"), uint64(len(text))),
		zlibBytes(f, text)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := testSection{name: ".debug_x", typ: stdelf.SHT_PROGBITS, data: data}
		if bytes.HasPrefix(data, []byte("ZLIB")) {
			s.name = ".zdebug_x"
		} else {
			s.flags = stdelf.SHF_COMPRESSED
		}
		image := buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, []testSection{s})
		file := must.Get(Parse("fuzz", image))(t)
		for _, s := range file.Sections {
			limit := max(smallDecompressed, usualRatio*len(image))
			if data, err := s.Data(); err == nil && len(data) > limit {
				t.Errorf("%d bytes of %d", len(data), len(image))
			}
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzThin lists the members of archives that may name each other.
func FuzzThin(f *testing.F) {
	const names = "b.a/\nx.o/\na.a/\n"
	long := arMember("//", names)
	thin := func(members ...string) []byte {
		return []byte(thinMagic + long + strings.Join(members, ""))
	}
	plain := []byte(archiveMagic + arMember("x.o/", "1"))
	f.Add(thin(arMember("/0", ""), arMember("/5", "")), plain)
	f.Add(thin(arMember("/0:8", "")), plain)
	f.Add(thin(arMember("/0", "")), thin(arMember("/10", "")))
	f.Add(thin(arMember("/10", "")), thin(arMember("/5", ""), arMember("/5", "")))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"a.a": a, "b.a": b, "x.o": nil} {
			must.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
		}
		list, err := OpenInput(filepath.Join(dir, "a.a"), nil)
		if err == nil && len(list) > 1+(len(a)+len(b))/60 { // a member's header has 60 bytes
			t.Errorf("%d members of %d and %d bytes", len(list), len(a), len(b))
		}
	})
}

func FuzzArchive(f *testing.F) {
	object := string(programtest.Gunzip(f, "testdata/machines/i386.o.gz"))
	for _, s := range []string{
		archiveMagic + arMember("/", "sym") + arMember("//", "first/\nsecond name/\n") +
			arMember("/7", "two") + arMember("x.o/", object),
		archiveMagic + arMember("#1/20", "long name of twenty\x00"+object) + arMember("y", "1"),
		thinMagic + arMember("//", "dir/x.o/\ndir/y.a/\n") + arMember("/0", "") + arMember("/9:8", ""),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, thin, err := parseArchive("fuzz", data)
		if err != nil || thin {
			return
		}
		for _, m := range members {
			if file, err := Parse(m.Label, data[m.offset:m.offset+m.size]); err == nil {
				exercise(file)
			}
		}
	})
}
