package kernelbtf_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/kernelbtf"
)

// someBTF returns raw BTF with one type.
func someBTF(t testing.TB, name string) string {
	t.Helper()
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	b.Int(name, 4, btf.IntSigned, 32)
	data, err := b.Encode(btf.EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// elfFile returns an ELF file with the given sections. pairs has the name of each section, followed
// by its content.
func elfFile(t testing.TB, pairs ...string) string {
	t.Helper()
	o := elfwrite.Object{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(elf.EM_X86_64)}
	for i := 0; i < len(pairs); i += 2 {
		o.Sections = append(o.Sections, elfwrite.Section{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	data, err := o.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func xzOf(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(content))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipOf(content string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(content))
	w.Close()
	return b.String()
}

func zstdOf(t testing.TB, content string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(content), nil))
}

// tarOf returns an archive of the given files. pairs has the name of each file, followed by its
// content. A name that ends in / is a directory, and one with -> a link.
func tarOf(t testing.TB, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: pairs[i], Mode: 0o644,
			Size: int64(len(pairs[i+1]))}
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if name, target, ok := strings.Cut(h.Name, "->"); ok {
			h.Typeflag, h.Name, h.Linkname = tar.TypeSymlink, name, target
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(pairs[i+1]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const limit = 1 << 20

// TestReadAll reads files as they are shipped, and checks the errors for other files.
func TestReadAll(t *testing.T) {
	a, b := someBTF(t, "a"), someBTF(t, "b")
	vmlinux := elfFile(t, ".BTF", a)
	hub := tarOf(t, "5.4.0-42-generic.btf", a)
	archive := tarOf(t, "./", "", "./x.btf", a, "sub/", "", "sub/y", vmlinux, "link->x.btf", "",
		"z.btf.zst", zstdOf(t, b))
	large := a + strings.Repeat("a", 9<<20) // kernelimage allows 8 MiB in any case
	for _, c := range []struct {
		name, content string
		members       string // the members that are found; "-" for the file itself
		data          []string
		says          string // the error, without the path
	}{
		{"raw", a, "-", []string{a}, ""},
		{"ELF", vmlinux, "-", []string{a}, ""},
		{"raw, gzip", gzipOf(a), "-", []string{a}, ""},
		{"raw, zstd", zstdOf(t, a), "-", []string{a}, ""},
		{"raw, xz", xzOf(t, a), "-", []string{a}, ""},
		{"ELF, gzip", gzipOf(vmlinux), "-", []string{a}, ""},
		{"ELF, zstd", zstdOf(t, vmlinux), "-", []string{a}, ""},
		{"ELF, xz", xzOf(t, vmlinux), "-", []string{a}, ""},
		{"BTFHub", xzOf(t, hub), "5.4.0-42-generic.btf", []string{a}, ""},
		{"tar", archive, "x.btf sub/y z.btf.zst", []string{a, a, b}, ""},
		{"tar, xz", xzOf(t, archive), "x.btf sub/y z.btf.zst", []string{a, a, b}, ""},
		{"tar, gzip", gzipOf(archive), "x.btf sub/y z.btf.zst", []string{a, a, b}, ""},
		// The caller checks names before it makes paths of them.
		{"tar, names that lead out", tarOf(t, "../x", a, "/y", b), "../x /y", []string{a, b}, ""},

		{"empty", "", "", nil, "empty file, expected "},
		{"text", "#!/bin/sh", "", nil, "neither a supported kernel image, nor an ELF file, nor raw"},
		{"ELF without BTF", elfFile(t, ".text", "x"), "", nil, "no BTF (.BTF) and no DWARF"},
		{"kernel without BTF", elfFile(t, ".init.text", "x"), "", nil,
			"no BTF: the kernel was built without CONFIG_DEBUG_INFO_BTF; "},
		{"object with DWARF", elfFile(t, ".debug_info", "x"), "", nil, "no BTF (.BTF), but DWARF"},
		{"distilled base", elfFile(t, ".BTF", a, ".BTF.base", b), "", nil, "its own distilled base"},
		{"tar without files", tarOf(t, "sub/", ""), "", nil, "a tar archive without files"},
		{"tar, truncated", archive[:700], "", nil, "unexpected EOF"},
		{"tar with text", tarOf(t, "x.btf", a, "README", "text"), "", nil,
			"README: neither a supported kernel image"},
		{"tar with an empty file", tarOf(t, "x.btf", ""), "", nil, "x.btf: empty file"},
		{"xz, of an empty file", xzOf(t, ""), "", nil, "empty file, expected "},
		{"tar in a tar", tarOf(t, "x.tar", hub), "", nil, "x.tar: a tar archive, but one kernel " +
			"was expected"},
		{"xz, truncated", xzOf(t, a)[:60], "", nil, "xz"},
		{"zstd, truncated", zstdOf(t, a)[:20], "", nil, "zstd"},
		{"gzip, truncated", gzipOf(a)[:30], "", nil, "gzip"},
		{"gzip, too large", gzipOf(large), "", nil, "when decompressed"},
		{"tar, too large", tarOf(t, "x", gzipOf(large)), "", nil, "when decompressed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
				t.Fatal(err)
			}
			found, err := kernelbtf.ReadAll(path, limit)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) ||
					!strings.HasPrefix(err.Error(), path) {
					t.Errorf("error %v\nwant %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			members := strings.Fields(c.members)
			if len(found) != len(members) {
				t.Fatalf("found %d kernels, want %q", len(found), members)
			}
			for i, f := range found {
				if want := strings.Trim(members[i], "-"); f.Member != want && members[i] != f.Member {
					t.Errorf("member %q, want %q", f.Member, want)
				}
				if string(f.Data) != c.data[i] || !strings.HasPrefix(f.Label, path) {
					t.Errorf("%s: %d bytes, want %d", f.Label, len(f.Data), len(c.data[i]))
				}
			}
		})
	}
}

// TestRead checks that Read refuses an archive, even if the archive has only one file. For all
// other files, Read is like ReadAll.
func TestRead(t *testing.T) {
	a := someBTF(t, "a")
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct{ content, says string }{
		{a, ""},
		{xzOf(t, a), ""},
		{tarOf(t, "x", a), "a tar archive, but one kernel was expected: unpack it first"},
		{xzOf(t, tarOf(t, "x", a)), "a tar archive, but one kernel was expected: unpack it first"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := kernelbtf.Read(path, limit)
		if c.says == "" && (err != nil || string(f.Data) != a) {
			t.Errorf("%v, %d bytes", err, len(f.Data))
		}
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("error %v, want %s", err, c.says)
		}
	}
	if _, err := kernelbtf.Read(path+"x", limit); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that doesn't exist: %v", err)
	}
}

// FuzzReadAll checks that each file is an error that names the file, or at least one blob, and that
// the blobs together are no larger than the limit allows.
func FuzzReadAll(f *testing.F) {
	raw := someBTF(f, "int")
	for _, content := range []string{raw, elfFile(f, ".BTF", raw), gzipOf(raw), xzOf(f, raw),
		zstdOf(f, raw), tarOf(f, "a.btf", raw, "b.ko", elfFile(f, ".BTF", raw)),
		xzOf(f, tarOf(f, "a.btf.gz", gzipOf(raw)))} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		list, err := kernelbtf.ReadAll(path, limit)
		switch {
		case err != nil && !strings.Contains(err.Error(), path):
			t.Errorf("the error doesn't name the file: %v", err)
		case err == nil && len(list) == 0:
			t.Error("neither BTF nor an error")
		}
		for _, file := range list {
			if len(file.Data) > max(len(data), limit) {
				t.Errorf("%s has %d bytes, from a file of %d", file.Label, len(file.Data), len(data))
			}
		}
	})
}
