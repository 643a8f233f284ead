package btftext_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
)

// write returns a blob's text.
func write(t testing.TB, b *btf.Blob) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := btftext.Write(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// checkLossless writes a blob and reads the text, which must give the same content and, written
// again, the same text.
func checkLossless(t testing.TB, b *btf.Blob) (text []byte) {
	t.Helper()
	text = write(t, b)
	back, err := btftext.Read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if again := write(t, back); !bytes.Equal(text, again) {
		t.Fatalf("the text changes:\n%s\n-- written again:\n%s", text, again)
	}
	differences, _ := diff.Compare(diff.Side{b}, diff.Side{back}, diff.Options{})
	for _, d := range differences {
		t.Errorf("%+v", d)
	}
	return text
}

const runningKernel = "/sys/kernel/btf/vmlinux"

func TestRunningKernel(t *testing.T) {
	b, err := btf.ReadOne(runningKernel, nil)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	text := checkLossless(t, b)
	t.Logf("%d types, %d bytes of text", len(b.Types), len(text))
}

// TestUnused checks that anonymous structs, unions and enums are written even if no type refers to
// them, but pointers and other types without content aren't.
func TestUnused(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	b.Enum(btf.KindEnum, "", 4, false, btf.Enumerator{NameOff: b.Name("FLAG"), Value: 1})
	b.Ref(btf.KindPtr, "", b.Composite(btf.KindStruct, "", 1, false))
	b.DeclTag("t", b.Composite(btf.KindUnion, "", 4, false,
		btf.Member{NameOff: b.Name("i"), Type: b.Int("int", 4, btf.IntSigned, 32)}), 0)
	const want = `# BTF as text, version 1, 64-bit, little-endian
union 4 {
  0      int i decl_tag(t);
};
enum 4 {
  FLAG = 1,
};
int 'int' 4 signed;
end 3;
`
	if text := checkLossless(t, b.Finish()); string(text) != want {
		t.Errorf("%s", text)
	}
}

// TestBase checks that the types of the base are written, too.
func TestBase(t *testing.T) {
	base := btf.NewBuilder(binary.BigEndian, nil, nil)
	base.Int("long int", 4, btf.IntSigned, 32)
	b := btf.NewBuilder(binary.BigEndian, base.Finish(), nil)
	b.Ref(btf.KindTypedef, "s64", 1)
	const want = `# BTF as text, version 1, 32-bit, big-endian
typedef long int s64;
int 'long int' 4 signed;
end 2;
`
	if text := checkLossless(t, b.Finish()); string(text) != want {
		t.Errorf("%s", text)
	}
}

// TestRefused checks that BTF without a text gives an error, without much time or memory.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		want string
		add  func(b *btf.Builder)
	}{
		{"BTF type [1] TYPEDEF t: it refers to [9], which does not exist", func(b *btf.Builder) {
			b.Ref(btf.KindTypedef, "t", 9)
		}},
		{"BTF type [1] VAR v: it must not refer to [1] VAR v", func(b *btf.Builder) {
			b.Var("v", 1, 0)
		}},
		{"BTF type [2] DECL_TAG t: it must not refer to [1] INT int", func(b *btf.Builder) {
			b.DeclTag("t", b.Int("int", 4, 0, 32), btf.DeclTagWhole)
		}},
		{"BTF type [2] DECL_TAG t: component 0 does not exist", func(b *btf.Builder) {
			b.DeclTag("t", b.Composite(btf.KindStruct, "s", 4, false), 0)
		}},
		{"BTF type [1] PTR p: types of this kind must not have a name", func(b *btf.Builder) {
			b.Ref(btf.KindPtr, "p", 0)
		}},
		{"BTF type [1] INT int: invalid encoding 0x8000020", func(b *btf.Builder) {
			b.Int("int", 4, 8, 32)
		}},
		{"BTF type [1] LOC_PROTO: the text has no form for sites of inlined functions",
			func(b *btf.Builder) { b.LocProto() }},
		{"BTF type [1] VAR v: invalid linkage 3", func(b *btf.Builder) {
			b.Var("v", 0, 3)
		}},
		{"BTF type [1] FLOAT: string offset 99 is past the end of the string section (1 bytes)",
			func(b *btf.Builder) {
				b.Add(btf.Type{Kind: btf.KindFloat, NameOff: 99})
			}},
		{"BTF type [1] CONST: more than 256 types without a name are nested in each other",
			func(b *btf.Builder) {
				b.Ref(btf.KindConst, "", 2)
				b.Ref(btf.KindPtr, "", 1)
				b.Var("v", 1, 0)
			}},
		{"BTF type [1] STRUCT: the text would be longer than 128 MiB", func(b *btf.Builder) {
			for i := range uint32(100) {
				b.Composite(btf.KindStruct, "", 1, false, btf.Member{Type: i}, btf.Member{Type: i})
			}
			b.Var("v", 100, 0)
		}},
		// enough rounds to take minutes, if they were allowed
		{"too many types have equal names; merge equal types with btfdedup link",
			func(b *btf.Builder) {
				const n = 1 << 16
				for i := range uint32(n) {
					b.Ref(btf.KindTypedef, "t", (i+2)%n)
				}
			}},
	} {
		b := btf.NewBuilder(nil, nil, nil)
		c.add(b)
		if err := btftext.Write(io.Discard, b.Finish()); err == nil || err.Error() != c.want {
			t.Errorf("got %q, want %q", err, c.want)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	kernel, err := btf.ReadOne(runningKernel, nil)
	if err != nil {
		b.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	text := write(b, kernel)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := btftext.Read(text); err != nil {
			b.Fatal(err)
		}
	}
}
