package cheader_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/cheader"
)

// header writes the C header for an int (id 1), a long (id 2) and the types that the function add
// builds. It returns the part that depends on the types.
func header(t *testing.T, add func(b *btf.Builder)) (string, error) {
	t.Helper()
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)
	b.Int("long int", 8, btf.IntSigned, 0)
	add(b)
	var out bytes.Buffer
	err := cheader.Write(&out, b.Finish(), nil)
	_, text, _ := strings.Cut(out.String(), "#define __bpf_fastcall\n#endif\n#endif\n\n")
	text, _, _ = strings.Cut(text, "\n/* BPF kfuncs */")
	return text, err
}

func member(b *btf.Builder, name string, id, offset uint32) btf.Member {
	return btf.Member{NameOff: b.Name(name), Type: id, Offset: offset}
}

// bitfield returns a bitfield member for a struct whose kind flag is set.
func bitfield(b *btf.Builder, name string, id, offset, width uint32) btf.Member {
	return member(b, name, id, offset|width<<24)
}

func value(b *btf.Builder, name string, v uint64) btf.Enumerator {
	return btf.Enumerator{NameOff: b.Name(name), Value: v}
}

// TestText writes BTF that is hard to express in C, above all BTF for which bpftool's text does not
// compile or has a different layout.
func TestText(t *testing.T) {
	for _, c := range []struct {
		what string
		add  func(b *btf.Builder)
		want string
	}{
		{"a struct with a tag as an anonymous member, as -fms-extensions allows",
			func(b *btf.Builder) {
				b.Composite(btf.KindStruct, "head", 4, false, member(b, "n", 1, 0))
				b.Composite(btf.KindStruct, "name", 8, false, member(b, "", 3, 0), member(b, "m", 1, 32))
			},
			"struct head {\n\tint n;\n};\n\n" +
				"struct name {\n\tstruct {\n\t\tint n;\n\t};\n\tint m;\n};\n\n"},
		{"a packed union",
			func(b *btf.Builder) {
				b.Int("char", 1, btf.IntSigned, 0)
				b.Array(3, 1, 6)
				b.Composite(btf.KindUnion, "u", 6, false, member(b, "i", 1, 0), member(b, "c", 4, 0))
			},
			"union u {\n\tint i;\n\tchar c[6];\n} __attribute__((packed));\n\n"},
		{"an aligned union",
			func(b *btf.Builder) {
				b.Composite(btf.KindUnion, "u", 64, false, member(b, "i", 1, 0))
			},
			"union u {\n\tint i;\n} __attribute__((aligned(64)));\n\n"},
		{"a union with a size that no attribute can give it",
			func(b *btf.Builder) {
				b.Composite(btf.KindUnion, "u", 7, false, member(b, "i", 1, 0))
			},
			"union u {\n\tint i;\n\tunsigned char ___pad1[7];\n} __attribute__((packed));\n\n"},
		{"bitfields across storage units",
			func(b *btf.Builder) {
				b.Composite(btf.KindStruct, "s", 8, true, bitfield(b, "a", 1, 0, 20),
					bitfield(b, "b", 1, 20, 20))
			},
			"struct s {\n\tint a: 20;\n\tint b: 20;\n\tlong: 0;\n} __attribute__((packed));\n\n"},
		{"members that overlap",
			func(b *btf.Builder) {
				b.Composite(btf.KindStruct, "s", 8, false, member(b, "a", 1, 0), member(b, "b", 1, 16))
			},
			"struct s {\n\tunsigned char ___pad1[8];\n};\n\n"},
		{"a member of an undefined enum type, and enums of odd sizes",
			func(b *btf.Builder) {
				b.Enum(btf.KindEnum, "e", 4, false)
				b.Enum(btf.KindEnum, "small", 2, false, value(b, "S", 1))
				b.Enum(btf.KindEnum64, "large", 8, true, value(b, "L", ^uint64(0)))
				b.Composite(btf.KindStruct, "s", 16, false, member(b, "e", 3, 0), member(b, "s", 4, 32),
					member(b, "l", 5, 64))
			},
			"enum e;\n\n" +
				"enum large {\n\tL = -1LL,\n} __attribute__((mode(word)));\n\n" +
				"enum small {\n\tS = 1,\n} __attribute__((mode(HI)));\n\n" +
				"struct s {\n\tunsigned int e;\n\tenum small s;\n\tenum large l;\n};\n\n"},
		{"an enum whose values are cut to 32 bits",
			func(b *btf.Builder) { b.Enum(btf.KindEnum, "cut", 8, false, value(b, "C", 1)) },
			"enum cut { /* 8 bytes, but the BTF has only the low 32 bits of the values */\n\tC = 1,\n} " +
				"__attribute__((mode(word)));\n\n"},
		{"names that became keywords in C23",
			func(b *btf.Builder) {
				b.Int("_Bool", 1, btf.IntBool, 0)
				b.Ref(btf.KindTypedef, "bool", 3)
				b.Enum(btf.KindEnum, "", 4, false, value(b, "false", 0), value(b, "true", 1))
				b.Composite(btf.KindStruct, "s", 4, false, member(b, "bool", 1, 0))
			},
			`#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L
enum {
	false = 0,
	true = 1,
};
#endif

#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L
typedef _Bool bool;
#endif

struct s {
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L
	int bool;
#else
	int bool_;
#endif
};

`},
		{"names that repeat, one of which already exists with a suffix",
			func(b *btf.Builder) {
				b.Composite(btf.KindStruct, "s", 4, false, member(b, "a", 1, 0))
				b.Composite(btf.KindStruct, "s", 4, false, member(b, "b", 1, 0))
				b.Composite(btf.KindStruct, "s___2", 4, false, member(b, "c", 1, 0))
				b.Ref(btf.KindTypedef, "x", 1)
				b.Enum(btf.KindEnum, "", 4, false, value(b, "x", 1))
			},
			"enum {\n\tx = 1,\n};\n\n" +
				"typedef int x___2;\n\n" +
				"struct s {\n\tint a;\n};\n\nstruct s___3 {\n\tint b;\n};\n\n" +
				"struct s___2 {\n\tint c;\n};\n\n"},
		{"names and number types from Rust",
			func(b *btf.Builder) {
				b.Int("u8", 1, 0, 0)
				b.Int("isize", 8, btf.IntSigned, 0)
				b.Composite(btf.KindStruct, "Option<a::B>", 16, false, member(b, "0", 3, 0),
					member(b, "default", 4, 64))
			},
			"struct Option_a__B_ {\n\tunsigned char _0;\n\tlong long default_;\n};\n\n"},
		{"a parameter that would hide a typedef",
			func(b *btf.Builder) {
				b.Ref(btf.KindTypedef, "u32", 1)
				p := b.FuncProto(0, btf.Param{NameOff: b.Name("u32"), Type: 3},
					btf.Param{NameOff: b.Name("n"), Type: 3})
				b.Ref(btf.KindPtr, "", p)
				b.Ref(btf.KindTypedef, "f", p+1)
			},
			"typedef int u32;\n\ntypedef void (*f)(u32, u32 n);\n\n"},
		{"a gap of megabytes",
			func(b *btf.Builder) {
				b.Composite(btf.KindStruct, "s", 1<<22, false, member(b, "a", 1, 0))
			},
			"struct s {\n\tint a;\n\tunsigned char ___pad2[4194300];\n};\n\n"},
		{"declarations that are read from the inside out",
			func(b *btf.Builder) {
				c := b.Ref(btf.KindConst, "", 1)                       // 3
				pc := b.Ref(btf.KindPtr, "", c)                        // 4
				cp := b.Ref(btf.KindConst, "", pc)                     // 5: const int * const
				a := b.Array(cp, 1, 2)                                 // 6
				aa := b.Array(a, 1, 3)                                 // 7
				pa := b.Ref(btf.KindPtr, "", aa)                       // 8
				f := b.FuncProto(pa, btf.Param{Type: cp}, btf.Param{}) // 9
				pf := b.Ref(btf.KindPtr, "", f)                        // 10
				fs := b.Array(pf, 1, 4)                                // 11
				b.Ref(btf.KindTypedef, "t", fs)
				tag := b.Ref(btf.KindTypeTag, "user", 1)
				b.Ref(btf.KindTypedef, "u", b.Ref(btf.KindPtr, "", tag))
			},
			"typedef int __attribute__((btf_type_tag(\"user\"))) *u;\n\n" +
				"typedef const int * const (* (*t[4])(const int * const, ...))[3][2];\n\n"},
	} {
		text, err := header(t, c.add)
		if err != nil || text != c.want {
			t.Errorf("%s: error %v\n%s\nwant\n%s", c.what, err, text, c.want)
		}
	}
}

// TestErrors writes BTF that C can't express.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		add  func(b *btf.Builder)
		want string
	}{
		{func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 4, false, member(b, "a", 3, 0))
		}, "BTF type [3] STRUCT s: it contains itself"},
		{func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 4, false, member(b, "a", 4, 0))
			b.Array(3, 1, 1)
		}, "BTF type [3] STRUCT s: it contains itself"},
		{func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "", 8, false, member(b, "a", 4, 0))
			b.Ref(btf.KindPtr, "", 3)
		}, "BTF type [3] STRUCT (anon): it contains itself"},
		{func(b *btf.Builder) {
			b.Ref(btf.KindTypedef, "a", 4)
			b.Ref(btf.KindTypedef, "b", 3)
		}, "its chain of references is longer than 500 types"},
		{func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 9) },
			"BTF type [3] PTR (anon): it refers to type [9], which doesn't exist"},
		{func(b *btf.Builder) {
			b.Func("f", 1, 0)
		}, "BTF type [3] FUNC f: its type [1] is not a FUNC_PROTO"},
		{func(b *btf.Builder) {
			b.Composite(btf.KindUnion, "u", 4, false, member(b, "a", 0, 0))
		}, "BTF type [3] UNION u: member 0 has type void"},
		{func(b *btf.Builder) {
			b.Int("u24", 3, 0, 0)
			b.Composite(btf.KindStruct, "s", 3, false, member(b, "a", 3, 0))
		}, "BTF type [3] INT u24: C has no integer of 3 bytes"},
		{func(b *btf.Builder) { // each level holds the previous one twice: 2^60 members
			for i := range uint32(60) {
				b.Composite(btf.KindStruct, "", 0, false, member(b, "a", 2+i, 0), member(b, "b", 2+i, 0))
			}
			b.Ref(btf.KindTypedef, "t", 62)
		}, "the types are nested so often"},
		{func(b *btf.Builder) { // 40 MB of text
			values := make([]btf.Enumerator, 4000)
			for i := range values {
				values[i] = value(b, strings.Repeat("x", 10000), uint64(i))
			}
			b.Enum(btf.KindEnum, "e", 4, false, values...)
		}, "the names are so long"},
		{func(b *btf.Builder) { // their padding is 40 MB of text
			for i := range uint32(20000) {
				b.Composite(btf.KindStruct, "s", i, false)
			}
		}, "the header would be too large"},
		{func(b *btf.Builder) {
			for i := range uint32(1000) {
				b.Ref(btf.KindPtr, "", 2+i)
			}
		}, "its chain of references is longer than 500 types"},
	} {
		text, err := header(t, c.add)
		if err == nil || !strings.Contains(err.Error(), c.want) || text != "" {
			t.Errorf("error %v, want %q\n%s", err, c.want, text[:min(300, len(text))])
		}
	}
}
