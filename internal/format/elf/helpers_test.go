package elf

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// readGzip returns the decompressed file at path.
func readGzip(t testing.TB, path string) []byte {
	t.Helper()
	fd, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	z, err := gzip.NewReader(fd)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// run runs a program in dir, or skips the test where there is none.
func run(t testing.TB, dir, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s on this machine", name)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.Bytes())
	}
	return out
}

// compile compiles C source with gcc and returns the object's path.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.c"), source)
	run(t, dir, "gcc", append(append([]string{"-c", "-o", "x.o"}, flags...), "x.c")...)
	return filepath.Join(dir, "x.o")
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// open opens path and closes it when the test ends.
func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// content is Data that must not fail.
func content(t testing.TB, s *Section) []byte {
	t.Helper()
	if s == nil {
		t.Fatal("no such section")
	}
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// namedSymbol is a symbol with its name.
type namedSymbol struct {
	Symbol
	Name string
}

// symbolsOf reads a file's symbols.
func symbolsOf(t *testing.T, f *File) []namedSymbol {
	t.Helper()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var list []namedSymbol
	for i := range symbols.List {
		list = append(list, namedSymbol{symbols.List[i], symbols.Name(&symbols.List[i])})
	}
	return list
}
