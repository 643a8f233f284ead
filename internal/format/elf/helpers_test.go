package elf

import (
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// compile compiles C source with gcc and returns the object's path.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return programtest.Compile(t, source, "gcc", append(flags, "-c")...)
}

func write(t testing.TB, path, content string) {
	t.Helper()
	must.OK(t, os.WriteFile(path, []byte(content), 0o666))
}

// open opens path and closes it when the test ends.
func open(t testing.TB, path string) *File {
	t.Helper()
	f := must.Get(Open(path))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// content returns the section's Data, which must not fail.
func content(t testing.TB, s *Section) []byte {
	t.Helper()
	if s == nil {
		t.Fatal("no such section")
	}
	data := must.Get(s.Data())(t)
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
	symbols := must.Get(f.Symbols())(t)
	var list []namedSymbol
	for i := range symbols.List {
		list = append(list, namedSymbol{symbols.List[i], symbols.Name(&symbols.List[i])})
	}
	return list
}
