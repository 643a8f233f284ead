package core

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestEssential(t *testing.T) {
	for name, want := range map[string]string{
		"task_struct":            "task_struct",
		"task_struct___old":      "task_struct",
		"task_struct___old___v2": "task_struct___old", // the last one is the flavor
		"a___b":                  "a",
		"___b":                   "___b", // nothing would be left
		"a___":                   "a___", // no flavor follows
		"a____b":                 "a____b",
		"a_____b":                "a_____b",
		"a__b":                   "a__b",
		"":                       "",
	} {
		if got := Essential(name); got != want {
			t.Errorf("Essential(%q) = %q, want %q", name, got, want)
		}
	}
}

// build returns the blob that the function f builds.
func build(t testing.TB, f func(b *btf.Builder)) *BTF {
	t.Helper()
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	f(b)
	checked := must.Get(NewBTF(b.Finish(), nil))(t)
	return checked
}

// local adds the types to which the relocations in the tests refer:
//
//	[1] int
//	[2] struct point { int x, y; }
//	[3] struct point[4]
//	[4] struct line { struct point ends[4]; int; struct { … }; struct point rest[]; }
//	[5] typedef void nothing
//	[6] enum color { RED, GREEN }
//	[7] struct { int x, y; }
//	[8] struct opaque;
//	[9] struct point[0]
//	[10] unsigned int
//	[11] struct wide { unsigned int w; }
//	[12] struct sample { struct point none[0]; int n; }
func local(b *btf.Builder) {
	b.Int("int", 4, btf.IntSigned, 0)
	members := []btf.Member{{NameOff: b.Name("x"), Type: 1}, {NameOff: b.Name("y"), Type: 1,
		Offset: 32}}
	b.Composite(btf.KindStruct, "point", 8, false, members...)
	b.Array(2, 1, 4)
	b.Composite(btf.KindStruct, "line", 44, false, btf.Member{NameOff: b.Name("ends"), Type: 3},
		btf.Member{NameOff: b.Name("n"), Type: 1, Offset: 256},
		btf.Member{Type: 7, Offset: 288}, btf.Member{NameOff: b.Name("rest"), Type: 9, Offset: 352})
	b.Ref(btf.KindTypedef, "nothing", 0)
	b.Enum(btf.KindEnum, "color", 4, false, btf.Enumerator{NameOff: b.Name("RED")},
		btf.Enumerator{NameOff: b.Name("GREEN"), Value: 1})
	b.Composite(btf.KindStruct, "", 8, false, members...)
	b.Fwd("opaque", false)
	b.Array(2, 1, 0)
	b.Int("unsigned int", 4, 0, 0)
	b.Composite(btf.KindStruct, "wide", 4, false, btf.Member{NameOff: b.Name("w"), Type: 10})
	b.Composite(btf.KindStruct, "sample", 4, false, btf.Member{NameOff: b.Name("none"), Type: 9},
		btf.Member{NameOff: b.Name("n"), Type: 1})
}

func TestParse(t *testing.T) {
	b := build(t, local)
	deep := "0" + strings.Repeat(":0", 64)
	for _, c := range []struct {
		r    Relocation
		want string // what the relocation means, or the error
	}{
		{Relocation{Kind: FieldByteOffset, Type: 2, Access: "0"}, "struct point at bit 0"},
		{Relocation{Kind: FieldByteOffset, Type: 2, Access: "3"}, "struct point[3] at bit 192"},
		{Relocation{Kind: FieldByteOffset, Type: 2, Access: "0:1"}, "struct point.y at bit 32"},
		{Relocation{Kind: FieldByteOffset, Type: 4, Access: "0:0:3:1"},
			"struct line.ends[3].y at bit 224"},
		{Relocation{Kind: FieldByteOffset, Type: 4, Access: "0:2:1"}, "struct line.y at bit 320"},
		{Relocation{Kind: FieldByteOffset, Type: 4, Access: "0:3:7"}, "struct line.rest[7] at bit 800"},
		{Relocation{Kind: EnumvalValue, Type: 6, Access: "1"}, "enum color GREEN at bit 0"},
		{Relocation{Kind: TypeExists, Type: 8, Access: "0"}, "struct opaque at bit 0"},
		{Relocation{Kind: TypeIDLocal, Type: 7, Access: "0"}, "struct  at bit 0"},

		{Relocation{Kind: 13, Type: 2, Access: "0"},
			`relocation kind 13 of struct point, access "0": the last known kind is 12`},
		{Relocation{Kind: TypeSize, Type: 13, Access: "0"},
			`relocation type_size of a missing type, access "0": the program's BTF has no such type`},
		{Relocation{Kind: TypeSize, Type: 0, Access: "0"},
			`relocation type_size of void, access "0": libbpf supports only types with names`},
		{Relocation{Kind: FieldByteOffset, Type: 0, Access: "0:1"},
			`relocation byte_off of void, access "0:1": gcc 16 writes such a relocation for an array ` +
				"field; compile the program with clang"},
		{Relocation{Kind: TypeIDLocal, Type: 0, Access: "0"}, "void at bit 0"},
		{Relocation{Kind: TypeSize, Type: 7, Access: "0"},
			`relocation type_size of unnamed struct, access "0": libbpf supports only types with names`},
		{Relocation{Kind: TypeSize, Type: 2, Access: "0:0"},
			`the access to a whole type must be "0"`},
		{Relocation{Kind: FieldExists, Type: 2, Access: ""}, `"" is not an index`},
		{Relocation{Kind: FieldExists, Type: 2, Access: "0:"}, `"" is not an index`},
		{Relocation{Kind: FieldExists, Type: 2, Access: "0:-1"}, `"-1" is not an index`},
		{Relocation{Kind: FieldExists, Type: 2, Access: "0:2147483648"},
			`"2147483648" is not an index`},
		{Relocation{Kind: FieldExists, Type: 2, Access: deep}, "65 indexes, more than the limit of 64"},
		{Relocation{Kind: FieldExists, Type: 2, Access: "0:2"},
			`relocation field_exists of struct point, access "0:2": struct point has no member 2`},
		{Relocation{Kind: FieldExists, Type: 4, Access: "0:0:4"}, "element 4 of an array of 4"},
		{Relocation{Kind: FieldExists, Type: 12, Access: "0:0:0"}, "element 0 of an array of 0"},
		{Relocation{Kind: FieldExists, Type: 2, Access: "0:0:0"}, "int has no members"},
		{Relocation{Kind: FieldExists, Type: 5, Access: "0"}, "it is a field or enumerator of void"},
		{Relocation{Kind: FieldExists, Type: 8, Access: "0:0"}, "fwd has no size"},
		{Relocation{Kind: EnumvalExists, Type: 6, Access: "2"}, "not an enumerator"},
		{Relocation{Kind: EnumvalExists, Type: 6, Access: "0:0"}, "not an enumerator"},
		{Relocation{Kind: EnumvalExists, Type: 2, Access: "0"}, "not an enumerator"},
	} {
		s, err := Parse(b, c.r)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%v at bit %d", s, s.Bit)
		}
		if got != c.want && (err == nil || !strings.HasSuffix(got, ": "+c.want)) {
			t.Errorf("%v [%d] %.20q: %q, want %q", c.r.Kind, c.r.Type, c.r.Access, got, c.want)
		}
	}
}

// TestMissing checks what an answer says if the kernel lacks something.
func TestMissing(t *testing.T) {
	kernel := func(f func(b *btf.Builder)) *Kernel { return &Kernel{Vmlinux: build(t, f)} }
	point := func(b *btf.Builder, members ...btf.Member) {
		b.Int("long", 8, btf.IntSigned, 0)
		b.Ref(btf.KindPtr, "", 0)
		b.Composite(btf.KindStruct, "point", 16, false, members...)
	}
	member := func(b *btf.Builder, name string, typ, offset uint32) btf.Member {
		return btf.Member{NameOff: b.Name(name), Type: typ, Offset: offset}
	}
	y := Relocation{Kind: FieldByteOffset, Type: 2, Access: "0:1", Memory: 4}
	for _, c := range []struct {
		r            Relocation
		kernel       func(b *btf.Builder)
		want         string
		poison, fail bool
	}{
		{y, func(b *btf.Builder) { b.Int("int", 4, 0, 0) }, "struct point doesn't exist", true, false},
		{y, func(b *btf.Builder) { point(b, member(b, "x", 1, 0)) }, "struct point has no field y", true,
			false},
		{y, func(b *btf.Builder) { point(b, member(b, "y", 2, 0)) },
			"the field struct point.y has a different type: a pointer, where the program has int", true,
			false},
		{y, func(b *btf.Builder) { point(b, member(b, "y", 1, 0)) },
			"struct point.y has 8 bytes, but the program reads 4", true, false},
		{y, func(b *btf.Builder) {
			point(b, member(b, "y", 1, 0))
			b.Composite(btf.KindStruct, "point___v2", 16, false, member(b, "y", 1, 64))
		}, "struct point.y is ambiguous: the kernel has several types of this name, and they " +
			"disagree (0 and 8)", false, true},
		{Relocation{Kind: FieldExists, Type: 4, Access: "0:0:3:0"}, func(b *btf.Builder) {
			point(b, member(b, "x", 1, 0))
			b.Array(3, 1, 2)
			b.Composite(btf.KindStruct, "line", 32, false, member(b, "ends", 4, 0))
		}, "struct line.ends has 2 elements", false, false},
		{Relocation{Kind: FieldExists, Type: 4, Access: "0:0:3:0"}, func(b *btf.Builder) {
			point(b, member(b, "x", 1, 0))
			b.Composite(btf.KindStruct, "line", 32, false, member(b, "ends", 3, 0))
		}, "the field struct line.ends has a different type: struct point, where the program has an " +
			"array", false, false},
		{Relocation{Kind: TypeSize, Type: 2, Access: "0"}, func(b *btf.Builder) {
			b.Composite(btf.KindUnion, "point", 8, false)
		}, "struct point doesn't exist", false, false},
		{Relocation{Kind: TypeMatches, Type: 2, Access: "0"}, func(b *btf.Builder) { point(b) },
			"struct point: it lacks members of the program's type, or has them with different types", false,
			false},
		{Relocation{Kind: EnumvalValue, Type: 6, Access: "1"}, func(b *btf.Builder) {
			b.Enum(btf.KindEnum, "color", 4, false, btf.Enumerator{NameOff: b.Name("RED")})
		}, "enum color: it has no enumerator GREEN", true, false},
		{y, func(b *btf.Builder) { point(b, member(b, "y", 1, 1<<18)) },
			"the offset 32768 is too large for an instruction", false, true},
		{Relocation{Kind: FieldByteOffset, Type: 11, Access: "0:0", Memory: 2}, func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "wide", 8, false, member(b, "w", b.Int("u64", 8, 0, 64), 0))
		}, "the program reads or writes 2 bytes of a field that has 4 bytes in the " +
			"program's types and 8 in the kernel", false, true},
		{Relocation{Kind: FieldByteOffset, Type: 11, Access: "0:0", Memory: 2}, func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "wide", 8, false, member(b, "w", b.Int("u32", 4, 0, 32), 0))
		}, "", false, false},
	} {
		s := must.Get(Parse(build(t, local), c.r))(t)
		k := kernel(c.kernel).Index(map[string]bool{"point": true, "line": true, "wide": true,
			"color": true})
		a := k.Resolve(s, c.r.Memory)
		got := a.Missing
		if a.Refused != nil {
			got = a.Refused.Error()
		}
		if got != c.want || a.Poison != c.poison || (a.Refused != nil) != c.fail {
			t.Errorf("%v %v: %q, poison %t, refused %t; want %q, %t, %t", c.r.Kind, s, got, a.Poison,
				a.Refused != nil, c.want, c.poison, c.fail)
		}
	}
}

// TestLimits resolves relocations about types that are nested deeply or in a cycle, or that have
// exponentially many parts, and checks how many steps of work this takes. All blobs pass btf.Parse.
func TestLimits(t *testing.T) {
	int4 := func(b *btf.Builder) uint32 { return b.Int("int", 4, 0, 0) }
	for name, f := range map[string]func(b *btf.Builder) (root uint32, kind Kind, access string){
		"anonymous unions, each twice in the next": func(b *btf.Builder) (uint32, Kind, string) {
			at := int4(b)
			b.Composite(btf.KindStruct, "s___local", 4, false, btf.Member{NameOff: b.Name("x"), Type: at})
			for range 40 {
				at = b.Composite(btf.KindUnion, "", 4, false, btf.Member{Type: at}, btf.Member{Type: at})
			}
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{Type: at})
			return 2, FieldExists, "0:0"
		},
		"structs, each twice in the next": func(b *btf.Builder) (uint32, Kind, string) {
			at := int4(b)
			for range 30 {
				at = b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("x"), Type: at},
					btf.Member{NameOff: b.Name("y"), Type: at})
			}
			return at, TypeMatches, "0"
		},
		"prototypes, each twice in the next": func(b *btf.Builder) (uint32, Kind, string) {
			at := int4(b)
			for range 30 {
				at = b.Ref(btf.KindPtr, "", b.FuncProto(at, btf.Param{Type: at}, btf.Param{Type: at}))
			}
			return b.Ref(btf.KindTypedef, "s", at), TypeExists, "0"
		},
		"a typedef of itself": func(b *btf.Builder) (uint32, Kind, string) {
			b.Ref(btf.KindTypedef, "s", 1)
			return 1, TypeSize, "0"
		},
		"a pointer to itself": func(b *btf.Builder) (uint32, Kind, string) {
			b.Ref(btf.KindPtr, "", 1)
			b.Ref(btf.KindTypedef, "s", 1)
			return 2, TypeMatches, "0"
		},
		"a struct in itself": func(b *btf.Builder) (uint32, Kind, string) {
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{Type: 1})
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("x"), Type: 2})
			return 2, FieldExists, "0:0"
		},
		"an array of itself": func(b *btf.Builder) (uint32, Kind, string) {
			b.Array(1, 1, 2)
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("x"), Type: 1})
			return 2, FieldByteOffset, "0:0"
		},
		"many structs of one name": func(b *btf.Builder) (uint32, Kind, string) {
			at := int4(b)
			for range 14 {
				at = b.Composite(btf.KindUnion, "", 4, false, btf.Member{Type: at}, btf.Member{Type: at})
			}
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("x"), Type: 1})
			for range 10000 {
				b.Composite(btf.KindStruct, "s", 4, false, btf.Member{Type: at})
			}
			return 16, FieldExists, "0:0"
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r Relocation
			both := build(t, func(b *btf.Builder) { r.Type, r.Kind, r.Access = f(b) })
			k := (&Kernel{Vmlinux: both}).Index(map[string]bool{"s": true})
			if s, err := Parse(both, r); err == nil {
				t.Logf("%+v", k.Resolve(s, 4).Refused)
			} else {
				t.Log(err)
			}
			if k.work > maxWork {
				t.Errorf("%d steps of work", k.work)
			}
		})
	}
}

// FuzzResolve checks that, for any types and relocations, Parse and Resolve neither panic nor run
// for long.
func FuzzResolve(f *testing.F) {
	seed := build(f, local)
	data := must.Get(btf.Encode(seed.Blob, btf.EncodeOptions{}))(f)
	for kind := range NumKinds {
		f.Add(data, data, uint32(kind), uint32(2), "0:1")
		f.Add(data, data, uint32(kind), uint32(4), "0:0:1:1")
		f.Add(data, data, uint32(kind), uint32(6), "0")
	}
	f.Fuzz(func(t *testing.T, program, kernel []byte, kind, typ uint32, access string) {
		read := func(data []byte) *BTF {
			blob, err := btf.Parse(data, nil)
			if err != nil {
				return nil
			}
			b, err := NewBTF(blob, nil)
			if err != nil {
				return nil
			}
			return b
		}
		own, other := read(program), read(kernel)
		if own == nil || other == nil {
			return
		}
		s, err := Parse(own, Relocation{Kind: Kind(kind), Type: typ, Access: access})
		if err != nil {
			return
		}
		root, _ := own.ByID(s.Root)
		k := (&Kernel{Vmlinux: other}).Index(map[string]bool{Essential(own.TypeName(root)): true})
		a := k.Resolve(s, 4)
		if a.Refused == nil && !a.Poison && a.Missing == "" && len(a.Matches) == 0 &&
			s.Kind != TypeIDLocal {
			t.Errorf("%v: the answer %+v gives no reason", s, a)
		}
	})
}
