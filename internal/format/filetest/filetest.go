// Package filetest makes ELF files, archives and compressed files for tests.
package filetest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Bytes returns the file of an object.
func Bytes(t testing.TB, o elfwrite.File) []byte {
	t.Helper()
	data := must.Get(o.Bytes())(t)
	return data
}

// ELF returns an object file for x86-64 with these sections.
func ELF(t testing.TB, sections ...elfwrite.Section) []byte {
	t.Helper()
	return Bytes(t, elfwrite.File{AddrSize: 8, Order: binary.LittleEndian,
		Machine: uint16(elf.EM_X86_64), Sections: sections})
}

// Named is like ELF. The arguments are the name of each section, followed by its content.
func Named(t testing.TB, pairs ...string) string {
	t.Helper()
	var sections []elfwrite.Section
	for i := 0; i < len(pairs); i += 2 {
		sections = append(sections, elfwrite.Section{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	return string(ELF(t, sections...))
}

// Tar returns a tar archive. The arguments are the name of each file, followed by its content. A
// name that ends in "/" is a directory; a content that begins with "->" makes a symbolic link.
func Tar(t testing.TB, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: pairs[i], Mode: 0o644}
		to, link := strings.CutPrefix(pairs[i+1], "->")
		switch {
		case link:
			h.Typeflag, h.Linkname = tar.TypeSymlink, to
		case strings.HasSuffix(h.Name, "/"):
			h.Typeflag = tar.TypeDir
		default:
			h.Size = int64(len(pairs[i+1]))
		}
		must.OK(t, w.WriteHeader(h))
		if h.Size > 0 {
			io.WriteString(w, pairs[i+1])
		}
	}
	must.OK(t, w.Close())
	return b.String()
}

// Pack compresses the content of a file as the end of its name says: .gz, .tgz, .xz, .zst, or
// anything else for no compression.
func Pack[T string | []byte](t testing.TB, name string, content T) T {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch path.Ext(name) {
	case ".gz", ".tgz":
		w = gzip.NewWriter(&b)
	case ".xz":
		w, err = xz.NewWriter(&b)
	case ".zst":
		w, err = zstd.NewWriter(&b)
	default:
		return content
	}
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	must.OK(t, cmp.Or(err, w.Close()))
	return T(b.Bytes())
}
