package elf

import (
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// compile compiles C source with gcc and returns the object's path.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return programtest.Compile(t, source, "gcc", append(flags, "-c")...)
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

// content returns the section's Data, which must not fail.
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
