package dump_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// example returns BTF with types of all kinds.
func example(order binary.ByteOrder) *btf.Builder {
	b := btf.NewBuilder(order, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)
	b.Int("char", 1, btf.IntChar, 0)
	b.Int("_Bool", 1, btf.IntBool, 0)
	b.Int("old", 4, 3, 7)
	b.Ref(btf.KindPtr, "", 0)
	b.Array(1, 1, 4294967295)
	b.Composite(btf.KindStruct, "s", 8, true,
		btf.Member{NameOff: b.Name("a"), Type: 1, Offset: 3<<24 | 5},
		btf.Member{Type: 1, Offset: 32})
	b.Composite(btf.KindUnion, "", 4, false, btf.Member{NameOff: b.Name("u"), Type: 1})
	b.Enum(btf.KindEnum, "e", 4, true, btf.Enumerator{NameOff: b.Name("M"), Value: ^uint64(0)})
	b.Enum(btf.KindEnum, "", 4, false, btf.Enumerator{NameOff: b.Name("B"), Value: 1<<32 - 1})
	b.Enum(btf.KindEnum64, "l", 8, true, btf.Enumerator{NameOff: b.Name("N"), Value: 1 << 63})
	b.Enum(btf.KindEnum64, "m", 8, false, btf.Enumerator{NameOff: b.Name("O"), Value: 1 << 63})
	b.Fwd("f", false)
	b.Fwd("g", true)
	b.Ref(btf.KindTypedef, "t", 1)
	b.Ref(btf.KindVolatile, "", 1)
	b.Ref(btf.KindConst, "", 1)
	b.Ref(btf.KindRestrict, "", 5)
	b.FuncProto(0, btf.Param{NameOff: b.Name("p"), Type: 1}, btf.Param{})
	b.Func("fn", 19, btf.LinkageExtern)
	b.Var("v", 1, btf.LinkageGlobal)
	b.Datasec(".data", 4, btf.Secinfo{Type: 21, Offset: 8, Size: 4})
	b.Float("double", 8)
	b.DeclTag("tag", 7, btf.DeclTagWhole)
	b.DeclTag("tag", 7, 1)
	b.Ref(btf.KindTypeTag, "user", 1)
	return b
}

const exampleText = `[1] INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED
[2] INT 'char' size=1 bits_offset=0 nr_bits=8 encoding=CHAR
[3] INT '_Bool' size=1 bits_offset=0 nr_bits=8 encoding=BOOL
[4] INT 'old' size=4 bits_offset=0 nr_bits=7 encoding=UNKN
[5] PTR '(anon)' type_id=0
[6] ARRAY '(anon)' type_id=1 index_type_id=1 nr_elems=4294967295
[7] STRUCT 's' size=8 vlen=2
	'a' type_id=1 bits_offset=5 bitfield_size=3
	'(anon)' type_id=1 bits_offset=32
[8] UNION '(anon)' size=4 vlen=1
	'u' type_id=1 bits_offset=0
[9] ENUM 'e' encoding=SIGNED size=4 vlen=1
	'M' val=-1
[10] ENUM '(anon)' encoding=UNSIGNED size=4 vlen=1
	'B' val=4294967295
[11] ENUM64 'l' encoding=SIGNED size=8 vlen=1
	'N' val=-9223372036854775808LL
[12] ENUM64 'm' encoding=UNSIGNED size=8 vlen=1
	'O' val=9223372036854775808ULL
[13] FWD 'f' fwd_kind=struct
[14] FWD 'g' fwd_kind=union
[15] TYPEDEF 't' type_id=1
[16] VOLATILE '(anon)' type_id=1
[17] CONST '(anon)' type_id=1
[18] RESTRICT '(anon)' type_id=5
[19] FUNC_PROTO '(anon)' ret_type_id=0 vlen=2
	'p' type_id=1
	'(anon)' type_id=0
[20] FUNC 'fn' type_id=19 linkage=extern
[21] VAR 'v' type_id=1, linkage=global
[22] DATASEC '.data' size=4 vlen=1
	type_id=21 offset=8 size=4 (VAR 'v')
[23] FLOAT 'double' size=8
[24] DECL_TAG 'tag' type_id=7 component_idx=-1
[25] DECL_TAG 'tag' type_id=7 component_idx=1
[26] TYPE_TAG 'user' type_id=1
`

// TestRaw prints types of all kinds. If bpftool is installed, its text must be the same.
func TestRaw(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data, err := example(order).Encode(btf.EncodeOptions{})
		must.OK(t, err)
		b, err := btf.Parse(data, nil)
		must.OK(t, err)
		if text := raw(t, b); text != exampleText {
			t.Errorf("%v:\n%s", order, text)
		}
		if _, err := exec.LookPath("bpftool"); err != nil || order == binary.BigEndian {
			continue
		}
		path := filepath.Join(t.TempDir(), "btf")
		must.OK(t, os.WriteFile(path, data, 0o666))
		theirs, err := exec.Command("bpftool", "btf", "dump", "file", path, "format", "raw").Output()
		if err != nil || string(theirs) != exampleText {
			t.Errorf("bpftool: %v\n%s", err, theirs)
		}
	}
}

func raw(t *testing.T, b *btf.Blob) string {
	t.Helper()
	var text bytes.Buffer
	must.OK(t, dump.Raw(&text, b))
	return text.String()
}

// TestSplit prints only split BTF's own types. The names of some are strings in the base.
func TestSplit(t *testing.T) {
	split := btf.NewBuilder(nil, example(nil).Finish(), nil)
	split.Ref(btf.KindTypedef, "s", 7)
	split.Datasec("none", 0, btf.Secinfo{Type: 99})
	b := split.Finish()
	const want = "[27] TYPEDEF 's' type_id=7\n[28] DATASEC 'none' size=0 vlen=1\n" +
		"\ttype_id=99 offset=0 size=0\n"
	if text := raw(t, b); text != want {
		t.Error(text)
	}
	ids := must.Get(dump.Named(b, []string{"s", "double", "s"}))(t)
	var text bytes.Buffer
	must.OK(t, dump.Some(&text, b, ids))
	if want := exampleText[strings.Index(exampleText, "[7]"):strings.Index(exampleText, "[8]")] +
		"[23] FLOAT 'double' size=8\n[27] TYPEDEF 's' type_id=7\n"; text.String() != want {
		t.Error(text.String())
	}
}

// TestKeywords looks up types by names as in C, such as "struct s".
func TestKeywords(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("unsigned int", 4, 0, 0)                          // 1
	b.Composite(btf.KindStruct, "s", 0, false)              // 2
	b.Composite(btf.KindUnion, "s", 0, false)               // 3
	b.Fwd("s", false)                                       // 4
	b.Fwd("s", true)                                        // 5
	b.Enum(btf.KindEnum, "s", 4, false, btf.Enumerator{})   // 6
	b.Enum(btf.KindEnum64, "s", 8, false, btf.Enumerator{}) // 7
	b.Ref(btf.KindTypedef, "s", 2)                          // 8
	b.Composite(btf.KindStruct, "Box<s, 1>", 0, false)      // 9
	b.Composite(btf.KindStruct, "", 0, false)               // 10
	for _, c := range []struct {
		names string // separated by |
		want  []uint32
	}{
		{"s", []uint32{2, 3, 4, 5, 6, 7, 8}},
		{"struct s", []uint32{2, 4}},
		{" union  s\n", []uint32{3, 5}},
		{"enum s", []uint32{6, 7}},
		{"typedef s", []uint32{8}},
		{"typedef s|struct s|struct s", []uint32{2, 4, 8}},
		{"struct s|s", []uint32{2, 3, 4, 5, 6, 7, 8}},
		{" unsigned int ", []uint32{1}},
		{"struct Box<s, 1>|Box<s, 1> ", []uint32{9}},
	} {
		ids, err := dump.Named(b.Finish(), strings.Split(c.names, "|"))
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%q: %d, %v; want %d", c.names, ids, err, c.want)
		}
	}
}

// TestNoName looks up names that no type has.
func TestNoName(t *testing.T) {
	b := example(nil)
	b.Fwd("task_struct", false)
	for typed, want := range map[string]string{
		"x": `no type has the name "x"`,
		"":  `no type has the name ""`,

		"union task_struct": `no union has the name "task_struct"; types of these kinds have ` +
			`that name: struct`,
		"struct": `no type has the name "struct"`,
		" enum\tdouble ": `no enum has the name "double"; types of these kinds have ` +
			`that name: float`,
	} {
		if _, err := dump.Named(b.Finish(), []string{"int", typed}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestEscapes prints names with control characters. Such names are in the base alone, in the split
// BTF alone, or in BTF without a base.
func TestEscapes(t *testing.T) {
	withName := func(base *btf.Blob, name string) *btf.Blob {
		b := btf.NewBuilder(nil, base, nil)
		b.Fwd(name, false)
		return b.Finish()
	}
	const bad, escaped = "a\x1b[2J", `'a\x1b[2J'`
	if text := raw(t, withName(nil, bad)); !strings.Contains(text, escaped) {
		t.Error(text)
	}
	if text := raw(t, withName(withName(nil, "good"), bad)); !strings.Contains(text, escaped) {
		t.Error(text)
	}
	if text := raw(t, withName(withName(nil, bad), bad)); !strings.Contains(text, escaped) {
		t.Error(text)
	}
}
