package btfids

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// macros has C macros that lay out the section like those in include/linux/btf_ids.h.
const macros = `
#define SECTION(text) asm(".pushsection .BTF_ids,\"a\"\n" text "\n.popsection\n");
#define PLACE2(symbol, word) SECTION(".local " #symbol "\n.type " #symbol ", STT_OBJECT\n" \
	".size " #symbol ", 4\n" #symbol ": .zero 4\n" word)
#define PLACE(symbol, word) PLACE2(symbol, word)
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define ID(kind, name) PLACE(JOIN(__BTF_ID__##kind##__##name##__, __COUNTER__), "")
#define UNUSED SECTION(".zero 4")
#define BEGIN(symbol, head) SECTION(".local " #symbol "\n" #symbol ":" head)
#define END(symbol) SECTION(".size " #symbol ", . - " #symbol)
#define SET(name) BEGIN(__BTF_ID__set__##name, ".zero 4")
#define SET_END(name) END(__BTF_ID__set__##name)
#define SET8(name, flags) BEGIN(__BTF_ID__set8__##name, ".zero 4\n.long " #flags)
#define SET8_END(name) END(__BTF_ID__set8__##name)
#define FLAGS(kind, name, flags) \
	PLACE(JOIN(__BTF_ID__##kind##__##name##__, __COUNTER__), ".long " #flags)
`

// compilers lists the compilers that tests use if they are installed.
var compilers = []struct {
	name    string
	command []string
}{
	{"gcc", []string{"gcc"}},
	{"clang", []string{"clang"}},
	{"clang big endian", []string{"clang", "--target=s390x-linux-gnu"}},
	{"clang 32 bits big endian", []string{"clang", "--target=mips-linux-gnu"}},
}

// run runs a program. If the program isn't installed, run skips the test.
func run(t *testing.T, argv ...string) {
	t.Helper()
	programtest.Run(t, "", argv[0], argv[1:]...)
}

// compile compiles a source, preceded by macros, to an object file.
func compile(t *testing.T, compiler []string, source string) string {
	t.Helper()
	return programtest.Compile(t, macros+source, compiler[0], append(compiler[1:], "-O2", "-c")...)
}

// findIn calls Find for the file at path.
func findIn(t *testing.T, path string) (*Section, error) {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	t.Cleanup(func() { f.Close() })
	return Find(f)
}

// numbers returns the words of a section.
func numbers(order binary.ByteOrder, data []byte) []uint32 {
	var list []uint32
	for ; len(data) >= 4; data = data[4:] {
		list = append(list, order.Uint32(data))
	}
	return list
}

// patched copies the file at path, with data in place of the section's content. It returns the path
// of the copy.
func patched(t *testing.T, path string, data []byte) string {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	parts := must.Get(Patch(f, data))(t)
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	must.OK(t, os.WriteFile(out, bytes.Join(parts, nil), 0o644))
	return out
}

// named is a type in the BTF of a test.
type named struct {
	kind btf.Kind
	name string
}

// types makes BTF in which a FUNC_PROTO is the first type, followed by the types in a list.
func types(base *btf.Blob, list ...named) *btf.Blob {
	b := btf.NewBuilder(binary.LittleEndian, base, nil)
	proto := b.FuncProto(0)
	for _, x := range list {
		switch x.kind {
		case btf.KindFunc:
			b.Func(x.name, proto, btf.LinkageGlobal)
		case btf.KindStruct, btf.KindUnion:
			b.Composite(x.kind, x.name, 0, false)
		case btf.KindFwd:
			b.Fwd(x.name, false)
		default:
			b.Ref(x.kind, x.name, 0)
		}
	}
	return b.Finish()
}

// funcs is like types, but makes only functions.
func funcs(names ...string) *btf.Blob {
	var list []named
	for _, name := range names {
		list = append(list, named{btf.KindFunc, name})
	}
	return types(nil, list...)
}
