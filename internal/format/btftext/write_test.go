package btftext_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// write returns a blob's reference.
func write(t testing.TB, b *btf.Blob) []byte {
	t.Helper()
	var out bytes.Buffer
	must.OK(t, btftext.Write(&out, b))
	return out.Bytes()
}

// checkLossless writes a reference and reads it, which must give the same content and, written
// again, the same reference.
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

const tooLarge = "the reference would be more than 16 times as large as the BTF, because it " +
	"repeats names, and types without a name, wherever they are used"

// TestRefused checks that BTF for which there is no reference gives an error, without much time or
// memory.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		want string
		add  func(b *btf.Builder)
	}{
		{"BTF type [9] does not exist", func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 9) }},
		{"BTF type [1] VAR v: it is not a type", func(b *btf.Builder) {
			b.Var("v", 1, btf.LinkageGlobal)
		}},
		{"BTF type [1] VAR v: it is not global", func(b *btf.Builder) { b.Var("v", 0, 0) }},
		{"BTF type [1] FUNC f: it has no prototype", func(b *btf.Builder) {
			b.Func("f", 0, btf.LinkageGlobal)
		}},
		{"BTF type [2] DECL_TAG t: a reference can't have types of this kind", func(b *btf.Builder) {
			b.DeclTag("t", b.Composite(btf.KindStruct, "s", 4, false), btf.DeclTagWhole)
		}},
		{"BTF type [1] PTR p: a reference can't have this name here", func(b *btf.Builder) {
			b.Var("v", b.Ref(btf.KindPtr, "p", 0), btf.LinkageGlobal)
		}},
		{"BTF type [1] TYPE_TAG a) b: a reference can't have this name here", func(b *btf.Builder) {
			b.Var("v", b.Ref(btf.KindTypeTag, "a) b", 0), btf.LinkageGlobal)
		}},
		{"BTF type [1] INT const int: a reference can't have a type with this name",
			func(b *btf.Builder) { b.Int("const int", 4, 0, 32) }},
		{"BTF type [1] TYPEDEF void: a reference can't have a type with this name",
			func(b *btf.Builder) { b.Ref(btf.KindTypedef, "void", 0) }},
		{"BTF type [1] STRUCT s#2: a reference can't have a type with this name", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s#2", 4, false)
			b.Composite(btf.KindStruct, "s", 4, false)
			b.Composite(btf.KindStruct, "s", 8, false)
		}},
		{`BTF type [1] INT \xff: the name "\xff" is not UTF-8`, func(b *btf.Builder) {
			b.Int("\xff", 4, 0, 32)
		}},
		{"BTF type [1] INT int: invalid encoding 0x8000020", func(b *btf.Builder) {
			b.Int("int", 4, 8, 32)
		}},
		{"BTF type [1] ARRAY: its indices don't have the type __ARRAY_SIZE_TYPE__",
			func(b *btf.Builder) {
				b.Var("v", b.Array(0, 3, 1), btf.LinkageGlobal)
				b.Int("int", 4, 0, 32)
			}},
		{"BTF type [1] FLOAT: string offset 99 is past the end of the string section (1 bytes); " +
			"build or copy the file again",
			func(b *btf.Builder) { b.Add(btf.Type{Kind: btf.KindFloat, NameOff: 99}) }},
		{"BTF type [1] CONST: more than 256 types without a name are nested in each other",
			func(b *btf.Builder) {
				b.Ref(btf.KindConst, "", 2)
				b.Ref(btf.KindPtr, "", 1)
				b.Var("v", 1, btf.LinkageGlobal)
			}},
		{"BTF type [101] VAR v: " + tooLarge, func(b *btf.Builder) {
			for i := range uint32(100) {
				b.Composite(btf.KindStruct, "", 1, false, btf.Member{Type: i}, btf.Member{Type: i})
			}
			b.Var("v", 100, btf.LinkageGlobal)
		}},
		{"BTF type [2] FUNC f: " + tooLarge, func(b *btf.Builder) {
			params := make([]btf.Param, 1000)
			for i := range params {
				params[i].NameOff = b.Name(strings.Repeat("long", 1000))
			}
			b.Func("f", b.FuncProto(0, params...), btf.LinkageGlobal)
		}},
	} {
		b := btf.NewBuilder(nil, nil, nil)
		c.add(b)
		if err := btftext.Write(io.Discard, b.Finish()); err == nil || err.Error() != c.want {
			t.Errorf("got %q, want %q", err, c.want)
		}
	}
}
