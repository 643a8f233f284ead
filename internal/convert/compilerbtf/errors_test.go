package compilerbtf

import (
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// build makes a blob.
func build(order binary.ByteOrder, base *btf.Blob, add func(b *btf.Builder)) []byte {
	b := btf.NewBuilder(order, base, nil)
	add(b)
	data, err := b.Encode(btf.EncodeOptions{})
	if err != nil {
		panic(err)
	}
	return data
}

// elfOf makes an ELF file with a section .BTF.
func elfOf(data []byte) *elf.File {
	o := elfwrite.File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
		Sections: []elfwrite.Section{{Name: btf.SectionTypes, Data: data}}}
	content, err := o.Bytes()
	if err != nil {
		panic(err)
	}
	f, err := elf.Parse("x.o", content)
	if err != nil {
		panic(err)
	}
	return f
}

func TestErrors(t *testing.T) {
	little := binary.LittleEndian
	aStruct := func(b *btf.Builder) {
		b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("a"),
			Type: b.NextID() + 1})
		b.Int("int", 4, btf.IntSigned, 0)
	}
	one := build(little, nil, aStruct)
	base, err := btf.Parse(one, nil)
	must.OK(t, err)
	split := build(little, base, func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 1) })
	sized := build(little, nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
		b.Datasec(".data", 4, btf.Secinfo{Type: b.Var("v", 1, btf.LinkageGlobal), Size: 4})
	})
	static := build(little, nil, func(b *btf.Builder) {
		b.Func("f", b.FuncProto(0), btf.LinkageStatic)
	})
	badRef := build(little, nil, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 77) })
	badName := build(little, nil, func(b *btf.Builder) {
		b.Composite(btf.KindStruct, "has space", 0, false)
	})
	member := func(kind btf.Kind, size uint32, typ, at uint32) []byte {
		return build(little, nil, func(b *btf.Builder) {
			b.Int("int", 4, btf.IntSigned, 0)
			b.Composite(kind, "s", size, false, btf.Member{NameOff: b.Name("a"), Type: 1},
				btf.Member{NameOff: b.Name("b"), Type: typ, Offset: at})
		})
	}
	voids := build(little, nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
		b.Array(0, 1, 3)
	})
	enum := build(little, nil, func(b *btf.Builder) {
		b.Enum(btf.KindEnum, "e", 3, false, btf.Enumerator{NameOff: b.Name("A"), Value: 1})
	})
	deep := func(n uint32) []byte {
		return build(little, nil, func(b *btf.Builder) {
			b.Int("int", 4, btf.IntSigned, 0)
			for i := range n {
				b.Ref(btf.KindTypedef, fmt.Sprint("t", i), i+1)
			}
		})
	}
	if o, err := File(elfOf(deep(btf.MaxModifiers)), convert.Options{Jobs: 1}); err != nil ||
		len(o.Units[0].Items) != btf.MaxModifiers {
		t.Errorf("as many typedefs in a row as are allowed: error %v", err)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a member of type void", member(btf.KindStruct, 16, 0, 64),
			`BTF type [2] STRUCT "s": member 1 has type void; gcc writes vectors and nullptr like this`},
		{"a member beyond the end", member(btf.KindStruct, 8, 1, 96), "member 1 is at bit 96"},
		{"an offset in a union", member(btf.KindUnion, 8, 1, 32), "member 1 of a union is at bit 32"},
		{"elements of type void", voids, "an array whose elements have type void"},
		{"an enum of 3 bytes", enum, "an enum of 3 bytes"},
		{"typedefs in a row", deep(btf.MaxModifiers + 1), `BTF type [34] TYPEDEF: "t32" begins a ` +
			"chain of more than 32 typedefs and qualifiers"},
		{"split BTF", split,
			"section .BTF: this BTF is already linked, for example by pahole or btfdedup (it is " +
				"split BTF)"},
		{"split BTF after another", append(one[:len(one):len(one)], split...), "it is split BTF"},
		{"real sections", sized, `(section ".data" has a size, but compilers write 0)`},
		{"static functions only", static, "(all of its functions are static)"},
		{"another byte order", build(binary.BigEndian, nil, aStruct),
			"BTF is BigEndian, but the file is"},
		{"no magic", []byte("nonsense"), "section .BTF: BTF at offset 0x0: no BTF magic"},
		{"a broken second blob", append(one[:len(one):len(one)], 0x9f, 0xeb, 1),
			fmt.Sprintf("section .BTF: BTF at offset %#x: cut off in the header, after 3 bytes", len(one))},
		{"a reference to nothing", badRef, "section .BTF: BTF type [1] TYPEDEF: refers to type [77]"},
		{"a reference to nothing in the second blob", append(one[:len(one):len(one)], badRef...),
			fmt.Sprintf("section .BTF: blob 2 at offset %#x: BTF type [1] TYPEDEF", len(one))},
		{"a name", badName, `type "has space", or one of its members or enumerators, has a name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := File(elfOf(c.data), convert.Options{Features: features.Default(), Jobs: 2})
			if err == nil || !strings.HasPrefix(err.Error(), "x.o: ") ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}

	// A warning that applies to two blobs is given once.
	void := build(little, nil, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "v4", 0) })
	var warned []string
	_, err = File(elfOf(append(void[:len(void):len(void)], void...)), convert.Options{Jobs: 1,
		Warn: func(line string) { warned = append(warned, line) }})
	if err != nil || len(warned) != 1 || !strings.Contains(warned[0], "x.o: typedef v4 is void") {
		t.Errorf("warnings %q, %v", warned, err)
	}

	var warnings []string
	opt := convert.Options{Features: features.Default().With(features.SkipUnencodable), Jobs: 1,
		Warn: func(line string) { warnings = append(warnings, line) }}
	o, err := File(elfOf(slices.Concat(badName, one, deep(btf.MaxModifiers+1))), opt)
	if err != nil || len(o.Units) != 1 || len(warnings) != 2 || o.Counts.Units != 1 ||
		o.Counts.Unencodable != 2 {
		t.Errorf("%+v, %v, warnings %q", o, err, warnings)
	}
}
