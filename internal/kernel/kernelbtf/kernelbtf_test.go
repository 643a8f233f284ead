package kernelbtf_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/kernel/kernelbtf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// someBTF returns raw BTF with one type.
func someBTF(t testing.TB, name string) string {
	t.Helper()
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	b.Int(name, 4, btf.IntSigned, 32)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return string(data)
}

var elfFile, tarOf, pack = filetest.Named, filetest.Tar, filetest.Pack[string]

const limit = 1 << 20

// TestReadAll reads files as they are shipped, and checks the errors for other files.
func TestReadAll(t *testing.T) {
	a, b := someBTF(t, "a"), someBTF(t, "b")
	vmlinux := elfFile(t, ".BTF", a)
	hub := tarOf(t, "5.4.0-42-generic.btf", a)
	archive := tarOf(t, "./", "", "./x.btf", a, "sub/", "", "sub/y", vmlinux, "link", "->x.btf",
		"z.btf.zst", pack(t, ".zst", b))
	large := a + strings.Repeat("a", 9<<20) // kernelimage allows 8 MiB in any case
	for _, c := range []struct {
		name, content string
		members       string // the members that are found; "-" for the file itself
		data          []string
		says          string // the error, without the path
	}{
		{"raw", a, "-", []string{a}, ""},
		{"ELF", vmlinux, "-", []string{a}, ""},
		{"raw, gzip", pack(t, ".gz", a), "-", []string{a}, ""},
		{"raw, zstd", pack(t, ".zst", a), "-", []string{a}, ""},
		{"raw, xz", pack(t, ".xz", a), "-", []string{a}, ""},
		{"ELF, gzip", pack(t, ".gz", vmlinux), "-", []string{a}, ""},
		{"ELF, zstd", pack(t, ".zst", vmlinux), "-", []string{a}, ""},
		{"ELF, xz", pack(t, ".xz", vmlinux), "-", []string{a}, ""},
		{"BTFHub", pack(t, ".xz", hub), "5.4.0-42-generic.btf", []string{a}, ""},
		{"tar", archive, "x.btf sub/y z.btf.zst", []string{a, a, b}, ""},
		{"tar, xz", pack(t, ".xz", archive), "x.btf sub/y z.btf.zst", []string{a, a, b}, ""},
		{"tar, gzip", pack(t, ".gz", archive), "x.btf sub/y z.btf.zst", []string{a, a, b}, ""},
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
		{"xz, of an empty file", pack(t, ".xz", ""), "", nil, "empty file, expected "},
		{"tar in a tar", tarOf(t, "x.tar", hub), "", nil, "x.tar: a tar archive, but one kernel " +
			"was expected"},
		{"xz, truncated", pack(t, ".xz", a)[:60], "", nil, "xz"},
		{"zstd, truncated", pack(t, ".zst", a)[:20], "", nil, "zstd"},
		{"gzip, truncated", pack(t, ".gz", a)[:30], "", nil, "gzip"},
		{"gzip, too large", pack(t, ".gz", large), "", nil, "when decompressed"},
		{"tar, too large", tarOf(t, "x", pack(t, ".gz", large)), "", nil, "when decompressed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			must.OK(t, os.WriteFile(path, []byte(c.content), 0o666))
			found, err := kernelbtf.ReadAll(path, limit)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) ||
					!strings.HasPrefix(err.Error(), path) {
					t.Errorf("error %v\nwant %s", err, c.says)
				}
				return
			}
			must.OK(t, err)
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
		{pack(t, ".xz", a), ""},
		{tarOf(t, "x", a), "a tar archive, but one kernel was expected: unpack it first"},
		{pack(t, ".xz", tarOf(t, "x", a)), "a tar archive, but one kernel was expected: unpack it first"},
	} {
		must.OK(t, os.WriteFile(path, []byte(c.content), 0o666))
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
	for _, content := range []string{raw, elfFile(f, ".BTF", raw), pack(f, ".gz", raw),
		pack(f, ".xz", raw),
		pack(f, ".zst", raw), tarOf(f, "a.btf", raw, "b.ko", elfFile(f, ".BTF", raw)),
		pack(f, ".xz", tarOf(f, "a.btf.gz", pack(f, ".gz", raw)))} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		path := filepath.Join(t.TempDir(), "file")
		must.OK(t, os.WriteFile(path, data, 0o666))
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
