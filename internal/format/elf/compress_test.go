package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestCompressedObjects compresses the debug sections of an object in each way, and expects the
// relocated content of the uncompressed object.
func TestCompressedObjects(t *testing.T) {
	path := compile(t, smallC, "-g", "-gz=none")
	plain := open(t, path)
	for _, kind := range []string{"zlib-gabi", "zlib-gnu", "zstd"} {
		t.Run(kind, func(t *testing.T) {
			out := path + "." + kind
			programtest.Run(t, "", "objcopy", "--compress-debug-sections="+kind, path, out)
			f := open(t, out)
			compressed := 0
			for _, want := range plain.Sections {
				if !strings.HasPrefix(want.Name, ".debug_") {
					continue
				}
				s := f.Section(want.Name)
				if s.compressed() {
					compressed++
				}
				if !bytes.Equal(content(t, s), content(t, want)) {
					t.Errorf("%s: content differs", want.Name)
				}
			}
			if compressed < 2 {
				t.Errorf("%d compressed sections", compressed)
			}
		})
	}
}

func zlibBytes(t testing.TB, data []byte) []byte {
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	must.Get(w.Write(data))(t)
	must.OK(t, w.Close())
	return buf.Bytes()
}

func zstdBytes(t testing.TB, data []byte) []byte {
	w := must.Get(zstd.NewWriter(nil))(t)
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func TestDecompress(t *testing.T) {
	zeros := make([]byte, 64<<20)
	small := []byte("hello hello hello hello")
	for _, tt := range []struct {
		name string
		kind uint32
		size uint64
		body []byte
		want string // in the error
	}{
		{"zlib", 1, uint64(len(small)), zlibBytes(t, small), ""},
		{"zstd", 2, uint64(len(small)), zstdBytes(t, small), ""},
		{"zlib of zeros", 1, uint64(len(zeros)), zlibBytes(t, zeros), ""},
		{"zstd of zeros", 2, uint64(len(zeros)), zstdBytes(t, zeros), ""},
		{"empty", 1, 0, zlibBytes(t, nil), ""},
		{"kind", 3, 1, small, "unknown compression type 3"},
		{"bomb", 1, 1 << 30, zlibBytes(t, small), "cannot decompress to 1073741824"},
		{"zstd bomb", 2, 4 << 30, zstdBytes(t, small), "cannot decompress to 4294967296"},
		{"zlib of too many zeros", 1, uint64(len(zeros)) + 1, zlibBytes(t, zeros),
			"decompress to 67108865 bytes, more than 67108864; if that is right, run " +
				"llvm-objcopy --decompress-debug-sections on the file"},
		{"zstd of too many zeros", 2, uint64(len(zeros)) + 1, zstdBytes(t, zeros),
			"decompress to 67108865"},
		{"short", 1, 10, zlibBytes(t, small), "more than the announced 10 bytes"},
		{"zstd short", 2, 10, zstdBytes(t, small), "corrupt zstd data: after 0 of 10 bytes"},
		{"zstd much too short", 2, 10, zstdBytes(t, zeros), "more than the announced 10 bytes"},
		{"zstd long", 2, 100, zstdBytes(t, small), "23 of 100 bytes"},
		{"long", 1, 100, zlibBytes(t, small), "23 of 100 bytes"},
		{"garbage", 1, 10, small, "corrupt zlib"},
		{"zstd garbage", 2, 10, small, "corrupt zstd"},
		{"truncated", 1, uint64(len(small)), zlibBytes(t, small)[:8], "corrupt zlib"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head := make([]byte, 24)
			binary.LittleEndian.PutUint32(head, tt.kind)
			binary.LittleEndian.PutUint64(head[8:], tt.size)
			f, err := Parse("x", buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, []testSection{
				{name: ".debug_x", typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_COMPRESSED,
					data: append(head, tt.body...)}}))
			must.OK(t, err)
			f.MaxDecompressed = len(zeros)
			data, err := f.Section(".debug_x").Data()
			switch {
			case tt.want == "" && (err != nil || uint64(len(data)) != tt.size):
				t.Errorf("%d bytes, %v", len(data), err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	f, err := Parse("x", buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, []testSection{
		{name: ".debug_x", typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_COMPRESSED, data: small[:20]}}))
	must.OK(t, err)
	if _, err := f.Section(".debug_x").Data(); err == nil ||
		!strings.Contains(err.Error(), "truncated compression header") {
		t.Errorf("short header: %v", err)
	}
}

// TestDecompressed: one limit applies to all sections of a file together, however large each is.
func TestDecompressed(t *testing.T) {
	section := func(size uint64) testSection {
		data := make([]byte, size)
		head := make([]byte, 24)
		binary.LittleEndian.PutUint32(head, uint32(stdelf.COMPRESS_ZSTD))
		binary.LittleEndian.PutUint64(head[8:], size)
		return testSection{name: ".debug_x", typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_COMPRESSED,
			data: append(head, zstdBytes(t, data)...)}
	}
	for _, c := range []struct {
		sections []testSection
		want     bool
	}{
		{[]testSection{section(128 << 10), section(128 << 10)}, true},
		{[]testSection{section(128 << 10), section(128<<10 + 1)}, false},
		{[]testSection{section(9 << 20), {name: "code", typ: stdelf.SHT_PROGBITS,
			data: make([]byte, 9<<20/usualRatio)}}, true},
		{[]testSection{section(9 << 20)}, false},
	} {
		f := must.Get(Parse("x", buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, c.sections)))(t)
		for i, s := range f.Sections[1:] {
			if _, err := s.Data(); s.compressed() && (err == nil) != c.want {
				t.Errorf("%d sections: section %d: %v", len(c.sections), i+1, err)
			}
		}
	}
}
