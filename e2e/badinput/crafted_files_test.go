package badinput

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// filesCrafted returns inputs that attack the readers of the files that contain DWARF or BTF: ELF
// files, archives and compressed files.
func filesCrafted() []crafted {
	return []crafted{
		{"a section of 900 MB, zlib", func(t *testing.T, dir string) []string {
			var packed bytes.Buffer
			w := must.Get(zlib.NewWriterLevel(&packed, zlib.BestCompression))(t)
			copyZeros(t, w, 900<<20)
			must.OK(t, w.Close())
			data := chdr(elf.COMPRESS_ZLIB, 900<<20, packed.Bytes())
			return writeELF(t, dir, "btfgen elf -o out", elf.ET_EXEC, []elfSection{{name: ".debug_info",
				flags: elf.SHF_COMPRESSED, data: data}})
		}, "decompress to 943718400"},
		{"a section of 4 GB, zstd", func(t *testing.T, dir string) []string {
			return writeELF(t, dir, "btfgen object -o out", elf.ET_REL, []elfSection{zeros(4 << 30)})
		}, "decompress to 4294967296"},
		{"a section of the largest accepted size", func(t *testing.T, dir string) []string {
			return writeELF(t, dir, "btfgen object -o out", elf.ET_REL, []elfSection{zeros(31 << 20),
				{name: ".debug_str", data: make([]byte, 1020<<10)}})
		}, "DWARF version 0"},
		{"300 sections, zstd", func(t *testing.T, dir string) []string {
			list := make([]elfSection, 300)
			for i := range list {
				list[i] = zeros(100 << 20)
			}
			return writeELF(t, dir, "btfgen object -o out", elf.ET_REL, list)
		}, "decompress to 31457280000"},
		{"an archive of 3,000 objects, zstd", func(t *testing.T, dir string) []string {
			object := buildELF(elf.ET_REL, []elfSection{zeros(256 << 10)})
			var a strings.Builder
			a.WriteString("!<arch>\n")
			for i := range 1 << 20 / len(object) {
				a.WriteString(arMember(fmt.Sprintf("%d.o/", i), string(object)))
			}
			harness.WriteFile(t, filepath.Join(dir, "x.a"), a.String())
			return strings.Fields("btfgen object -o out x.a")
		}, "inputs failed"},
		{"thin archives, which name one object 250,000 times", func(t *testing.T, dir string) []string {
			harness.MustRun(t, "", "cp", compile(t, "x.o", "-c", "-g"), dir)
			thin(t, dir, "inner.a", "x.o", 500)
			thin(t, dir, "outer.a", "inner.a", 500)
			return strings.Fields("btfgen object -o out outer.a")
		}, ""},
		{"thin archives, 30 levels", func(t *testing.T, dir string) []string {
			harness.MustRun(t, "", "cp", compile(t, "x.o", "-c", "-g"), dir)
			thin(t, dir, "0.a", "x.o", 500)
			for i := range 30 {
				thin(t, dir, fmt.Sprintf("%d.a", i+1), fmt.Sprintf("%d.a", i), 500)
			}
			return strings.Fields("btfgen object -o out 30.a")
		}, ""},
		{"an archive with overlapping names", func(t *testing.T, dir string) []string {
			var a strings.Builder
			a.WriteString("!<arch>\n" + arMember("//", strings.Repeat("x", 60000)+"/\n"))
			for i := range 15000 {
				a.WriteString(arMember(fmt.Sprintf("/%d", i), ""))
			}
			harness.WriteFile(t, filepath.Join(dir, "x.a"), a.String())
			return strings.Fields("btfgen object -o out x.a")
		}, "overlap"},
		{"15,000 empty members", func(t *testing.T, dir string) []string {
			var a strings.Builder
			a.WriteString("!<arch>\n")
			for i := range 15000 {
				a.WriteString(arMember(fmt.Sprintf("%d.o/", i), ""))
			}
			harness.WriteFile(t, filepath.Join(dir, "x.a"), a.String())
			return strings.Fields("btfgen object -o out x.a")
		}, "inputs failed"},
		{"8,000 sections that share their bytes", func(t *testing.T, dir string) []string {
			list := make([]elfSection, 8000)
			for i := range list {
				list[i] = elfSection{name: ".debug_info", share: 1}
			}
			list[0].data = make([]byte, 500<<10)
			return writeELF(t, dir, "btfgen object -o out", elf.ET_REL, list)
		}, "overlap"},
		{"the same relocations 8,000 times", func(t *testing.T, dir string) []string {
			return writeELF(t, dir, "btfgen object -o out", elf.ET_REL, relocations(8000))
		}, "overlap"},
		{"symbols with overlapping names", func(t *testing.T, dir string) []string {
			return writeELF(t, dir, "btfgen facts -o out", elf.ET_EXEC, symbols(20000, 60000))
		}, "times the size of their table"},
		{"import of 4 GB, zstd", func(t *testing.T, dir string) []string {
			harness.WriteFile(t, filepath.Join(dir, "x"), string(zstdZeros(nil, 4<<30)))
			return strings.Fields("btfdedup import -o out x")
		}, "neither a supported kernel image"},
		{"import of ELF of 4 GB, zstd", func(t *testing.T, dir string) []string {
			harness.WriteFile(t, filepath.Join(dir, "x"), string(zstdZeros([]byte("\x7fELF"), 4<<30)))
			return strings.Fields("btfdedup import -o out x")
		}, "--max-decompressed"},
		{"import of ELF, zstd of 1 MB", func(t *testing.T, dir string) []string {
			packed := zstdZeros([]byte("\x7fELF"), 8<<40)[:1<<20]
			harness.WriteFile(t, filepath.Join(dir, "x"), string(packed))
			return strings.Fields("btfdedup import -o out x")
		}, "--max-decompressed"},
		packedImport("bzip2 -9"), packedImport("gzip -9"), packedImport("xz -9"),
		packedImport("lzma -9"), packedImport("lz4 - -"), packedImport("zstd -19 --long=27"),
		{"import of 16 lzma streams", func(t *testing.T, dir string) []string {
			harness.Need(t, "lzma")
			harness.MustRun(t, dir, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do "+
				"(printf '\\177ELF'; head -c 60000 /dev/urandom; head -c 400000 /dev/zero) | "+
				"lzma --lzma1=dict=128MiB; done >x")
			return strings.Fields("btfdedup import -o out x")
		}, "x (lzma)"},
	}
}

// packedImport returns an input for btfdedup import, compressed by the given command. Decompressed,
// the input looks like an ELF file of 100 MB.
func packedImport(command string) crafted {
	program := strings.Fields(command)[0]
	return crafted{"import of 100 MB, " + program, func(t *testing.T, dir string) []string {
		harness.Need(t, program)
		harness.MustRun(t, dir, "sh", "-c",
			"(printf '\\177ELF'; head -c 100000000 /dev/zero) | "+command+" >x")
		return strings.Fields("btfdedup import -o out x")
	}, "--max-decompressed"}
}

// copyZeros writes n zero bytes; n is rounded up to a whole number of MiB.
func copyZeros(t *testing.T, w io.Writer, n int) {
	zeros := make([]byte, 1<<20)
	for ; n > 0; n -= len(zeros) {
		must.Get(w.Write(zeros))(t)
	}
}

// chdr returns the data of a compressed section: a header (Elf64_Chdr) and the packed bytes.
func chdr(kind elf.CompressionType, size uint64, packed []byte) []byte {
	head := make([]byte, 24)
	binary.LittleEndian.PutUint32(head, uint32(kind))
	binary.LittleEndian.PutUint64(head[8:], size)
	return append(head, packed...)
}

// zeros returns a section of zero bytes, compressed with zstd.
func zeros(size uint64) elfSection {
	return elfSection{name: ".debug_info", flags: elf.SHF_COMPRESSED,
		data: chdr(elf.COMPRESS_ZSTD, size, zstdZeros(nil, size))}
}

// zstdZeros returns a zstd frame that decompresses to the bytes in start, followed by zero bytes,
// to size bytes in all. The zero bytes are in RLE blocks (RFC 8878).
func zstdZeros(start []byte, size uint64) []byte {
	const largest = 128 << 10
	out := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x38} // magic; no sizes; a window of 128 KiB
	block := func(last bool, kind, size uint32) {
		v := kind<<1 | size<<3
		if last {
			v |= 1
		}
		out = append(out, byte(v), byte(v>>8), byte(v>>16))
	}
	block(false, 0, uint32(len(start)))
	out = append(out, start...)
	for left := size - uint64(len(start)); ; left -= largest {
		n := min(left, largest)
		block(n == left, 1, uint32(n))
		out = append(out, 0)
		if n == left {
			return out
		}
		if len(out) > 2<<20 { // enough: the frame may be incomplete
			return out
		}
	}
}

// arMember returns the header and content of an archive member. In a thin archive, members have no
// content.
func arMember(name, content string) string {
	s := fmt.Sprintf("%-16s%-12s%-6s%-6s%-8s%-10d`\n%s", name, "0", "0", "0", "644", len(content),
		content)
	return s + strings.Repeat("\n", len(s)%2)
}

// thin writes a thin archive that names the file member n times.
func thin(t *testing.T, dir, name, member string, n int) {
	members := strings.Repeat(arMember(member+"/", ""), n)
	harness.WriteFile(t, filepath.Join(dir, name), "!<thin>\n"+members)
}

// elfSection describes a section of a file that buildELF makes.
type elfSection struct {
	name       string
	typ        elf.SectionType // zero: SHT_PROGBITS
	flags      elf.SectionFlag
	link, info uint32
	data       []byte
	share      int // the index of the section whose bytes this section shares
}

// buildELF returns a little-endian ELF file for x86-64.
func buildELF(typ elf.Type, sections []elfSection) []byte {
	le := binary.LittleEndian
	names, at := []byte{0}, map[string]int{}
	sections = append(sections[:len(sections):len(sections)], elfSection{name: ".shstrtab",
		typ: elf.SHT_STRTAB})
	for _, s := range sections {
		if at[s.name] == 0 {
			at[s.name] = len(names)
			names = append(append(names, s.name...), 0)
		}
	}
	sections[len(sections)-1].data = names
	out, table := make([]byte, 64), make([]byte, 64*(len(sections)+1))
	for i, s := range sections {
		h := table[64*(i+1):]
		le.PutUint32(h, uint32(at[s.name]))
		le.PutUint32(h[4:], uint32(max(s.typ, elf.SHT_PROGBITS)))
		le.PutUint64(h[8:], uint64(s.flags))
		le.PutUint64(h[24:], uint64(len(out)))
		le.PutUint64(h[32:], uint64(len(s.data)))
		if s.share > 0 && s.share <= i {
			copy(h[24:40], table[64*s.share+24:])
		}
		le.PutUint32(h[40:], s.link)
		le.PutUint32(h[44:], s.info)
		le.PutUint64(h[48:], 1)
		out = append(out, s.data...)
	}
	copy(out, "\x7fELF\x02\x01\x01")
	le.PutUint16(out[16:], uint16(typ))
	le.PutUint16(out[18:], uint16(elf.EM_X86_64))
	le.PutUint64(out[40:], uint64(len(out)))
	le.PutUint16(out[52:], 64)
	le.PutUint16(out[58:], 64)
	le.PutUint16(out[60:], uint16(len(sections)+1))
	le.PutUint16(out[62:], uint16(len(sections)))
	return append(out, table...)
}

// writeELF writes a file and returns the command line that reads it.
func writeELF(t *testing.T, dir, command string, typ elf.Type, sections []elfSection) []string {
	must.OK(t, os.WriteFile(filepath.Join(dir, "x.o"), buildELF(typ, sections), 0o666))
	return append(strings.Fields(command), "x.o")
}

// relocations returns n relocation sections for .debug_info. All of them hold the same 20,000
// relocations.
func relocations(n int) []elfSection {
	list := []elfSection{
		{name: ".debug_info", data: make([]byte, 4096)},
		{name: ".symtab", typ: elf.SHT_SYMTAB, link: 3, data: make([]byte, 24)},
		{name: ".strtab", typ: elf.SHT_STRTAB, data: make([]byte, 1)},
	}
	rela := make([]byte, 24*20000)
	for i := range 20000 {
		binary.LittleEndian.PutUint64(rela[24*i+8:], uint64(elf.R_X86_64_64))
	}
	for range n {
		list = append(list, elfSection{name: ".rela.debug_info", typ: elf.SHT_RELA, link: 2, info: 1,
			share: 4})
	}
	list[3].data = rela
	return list
}

// symbols returns sections with n function symbols. The symbols' names are suffixes of one string,
// which is size bytes long.
func symbols(n, size int) []elfSection {
	le := binary.LittleEndian
	table := make([]byte, 24*(n+1))
	for i := 1; i <= n; i++ {
		s := table[24*i:]
		le.PutUint32(s, uint32(1+i))
		s[4] = byte(elf.STB_GLOBAL)<<4 | byte(elf.STT_FUNC)
		le.PutUint16(s[6:], 1)
		le.PutUint64(s[8:], uint64(i))
	}
	return []elfSection{
		{name: ".text", flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, data: make([]byte, 4096)},
		{name: ".symtab", typ: elf.SHT_SYMTAB, link: 3, info: 1, data: table},
		{name: ".strtab", typ: elf.SHT_STRTAB, data: []byte("\x00" + strings.Repeat("x", size) + "\x00")},
	}
}
