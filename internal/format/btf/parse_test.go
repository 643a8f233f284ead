package btf

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

const runningKernel = "/sys/kernel/btf/vmlinux"

// kernelBTF returns the running kernel's BTF, or skips the test.
func kernelBTF(t testing.TB) []byte {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	return data
}

// example returns a blob with types of every kind.
func example(order binary.ByteOrder) *Blob {
	b := olderKinds(order)
	fn := uint32(13)
	reg := b.LocParam(8, LocReg, 5)
	at := b.LocParam(4, LocReg|LocDeref|LocOffset|LocSigned, LocFrameBase, ^uint32(15))
	site := Site{fn, b.LocProto(reg, 0), 0x40}
	b.Locsec("inline.text", site, Site{fn, b.LocProto(at, reg), 0x80})
	return b.Finish()
}

// olderKinds starts a blob with types of every kind up to ENUM64.
func olderKinds(order binary.ByteOrder) *Builder {
	b := NewBuilder(order, nil, nil)
	n := b.Name
	i := b.Int("int", 4, IntSigned, 0)
	p := b.Ref(KindPtr, "", 0)
	b.Array(i, i, 3)
	s := b.Composite(KindStruct, "s", 8, true, Member{n("a"), i, 3 << 24}, Member{n("b"), i, 32})
	b.Composite(KindUnion, "u", 8, false, Member{n("p"), p, 0})
	b.Enum(KindEnum, "e", 4, true, Enumerator{NameOff: n("MINUS"), Value: ^uint64(0)},
		Enumerator{NameOff: n("ONE"), Value: 1})
	b.Fwd("f", true)
	b.Ref(KindTypedef, "t", s)
	b.Ref(KindVolatile, "", i)
	b.Ref(KindConst, "", i)
	b.Ref(KindRestrict, "", p)
	proto := b.FuncProto(i, Param{n("x"), i}, Param{})
	fn := b.Func("fn", proto, LinkageGlobal)
	v := b.Var("v", i, LinkageGlobal)
	b.Datasec(".data", 4, Secinfo{v, 0, 4})
	b.Float("double", 8)
	b.DeclTag("tag", fn, 0)
	b.Ref(KindTypeTag, "user", i)
	b.Enum(KindEnum64, "big", 8, false, Enumerator{NameOff: n("BIG"), Value: 0x123456789abcdef0})
	return b
}

func encoded(t testing.TB, b *Blob, opts EncodeOptions) []byte {
	data := must.Get(Encode(b, opts))(t)
	return data
}

// sameContent compares what two blobs hold, whatever their headers.
func sameContent(a, b *Blob) bool {
	x, y := *a, *b
	x.Header, y.Header = Header{}, Header{}
	return reflect.DeepEqual(x, y)
}

func TestRoundTrip(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for form, header := range map[EncodeOptions]uint32{
			{}:                            24,
			{Layout: true}:                32,
			{HeaderLen: 32}:               32,
			{HeaderLen: 40}:               40,
			{Layout: true, HeaderLen: 24}: 32,
		} {
			want := example(order)
			data := encoded(t, want, form)
			for shift := range 4 { // blobs need no alignment
				got, err := Parse(append(make([]byte, shift), data...)[shift:], nil)
				if err != nil {
					t.Fatal(order, form, err)
				}
				if !sameContent(got, want) {
					t.Fatalf("%v, %+v: read back\n%+v, want\n%+v", order, form, got, want)
				}
				if got.Header.HdrLen != header {
					t.Errorf("%+v: header of %d bytes, want %d", form, got.Header.HdrLen, header)
				}
				if again := encoded(t, got, got.Header.Form()); !bytes.Equal(again, data) {
					t.Error(order, form, "encoding what was read gives different bytes")
				}
			}
		}
	}
}

// TestLayoutSection checks the layout section against Linux 7.4: its struct btf_layout, and the
// element size of each kind.
func TestLayoutSection(t *testing.T) {
	data := encoded(t, example(binary.LittleEndian), EncodeOptions{Layout: true})
	b := must.Get(Parse(data, nil))(t)
	h := b.Header
	if h.LayoutOff != h.TypeLen || h.LayoutLen != 4*NumKinds || h.StrOff != h.LayoutOff+h.LayoutLen {
		t.Fatalf("sections are not types, layout, strings: %+v", h)
	}
	got := data[h.HdrLen+h.LayoutOff:][:h.LayoutLen]
	want := map[Kind][2]byte{
		KindInt: {4, 0}, KindArray: {12, 0}, KindStruct: {0, 12}, KindUnion: {0, 12}, KindEnum: {0,
			8}, KindFuncProto: {0, 8},
		KindVar: {4, 0}, KindDatasec: {0, 12}, KindDeclTag: {4, 0}, KindEnum64: {0, 12},
		KindLocParam: {4, 4}, KindLocProto: {0, 4}, KindLocsec: {0, 12},
	}
	for k := KindVoid; k < NumKinds; k++ {
		if e := got[4*k : 4*k+4]; e[0] != want[k][0] || e[1] != want[k][1] || e[2] != 0 || e[3] != 0 {
			t.Errorf("%v: layout entry %v, want %v", k, e, want[k])
		}
	}
}

// TestLayoutOfLibbpf writes the bytes that libbpf 1.8 writes for one INT (btf__new_empty_opts with
// add_layout).
func TestLayoutOfLibbpf(t *testing.T) {
	want := must.Get(hex.DecodeString("9feb010020000000" + "0000000010000000" + "6000000005000000" +
		"1000000050000000" +
		"01000000000000010400000020000001" +
		"00000000" + "04000000" + "00000000" + "0c000000" + "000c0000" + "000c0000" + "00080000" +
		"00000000" + "00000000" + "00000000" +
		"00000000" + "00000000" + "00000000" + "00080000" + "04000000" + "000c0000" + "00000000" +
		"04000000" + "00000000" + "000c0000" +
		"00696e7400"))(t)
	b := NewBuilder(binary.LittleEndian, nil, nil)
	b.Int("int", 4, IntSigned, 0)
	if got := encoded(t, b.Finish(), EncodeOptions{Layout: true}); !bytes.Equal(got, want) {
		t.Errorf("\n%x, want\n%x", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	good := encoded(t, example(binary.LittleEndian), EncodeOptions{})
	put := func(off int, v uint32) func([]byte) []byte {
		return func(d []byte) []byte { binary.LittleEndian.PutUint32(d[off:], v); return d }
	}
	typeLen := binary.LittleEndian.Uint32(good[12:])
	for _, c := range []struct {
		name string
		edit func([]byte) []byte
		want string
	}{
		{"empty", func(d []byte) []byte { return nil }, "cut off in the header, after 0 bytes"},
		{"text", func(d []byte) []byte { return []byte("#!/bin/sh\n") }, "no BTF magic 0xeb9f"},
		{"a package", func(d []byte) []byte { return []byte("!<arch>\ndebian-binary   1") },
			"this is a Debian package; unpack it, or check it with btfdedup verify"},
		{"an archive", func(d []byte) []byte { return []byte("!<arch>\na.o/            1") },
			"this is an archive; convert it with btfgen object"},
		{"version", func(d []byte) []byte { d[2] = 2; return d }, "unknown BTF version 2"},
		{"flags", func(d []byte) []byte { d[3] = 1; return d }, "header flags 0x1"},
		{"short header", put(4, 20), "header length 20"},
		{"long header", put(4, 1<<31), "header length"},
		{"unknown header field", put(4, 36), "are not zero"},
		{"unaligned types", put(8, 2), "not a multiple of 4"},
		{"gap", put(8, 4), "there is a gap of"},
		{"overlap", put(16, typeLen-4), "overlaps"},
		{"strings too long", put(20, 1<<30), "ends after the data"},
		{"trailing bytes", func(d []byte) []byte { return append(d, 0) },
			"the data continues for 1 byte after the last section"},
		{"truncated", func(d []byte) []byte { return d[:len(d)-1] }, "ends after the data"},
		{"no end of strings", func(d []byte) []byte { d[len(d)-1] = 'x'; return d },
			"does not end with a NUL byte; build or copy the file again"},
		{"no empty string", func(d []byte) []byte { d[24+typeLen] = 'x'; return d },
			"looks like split BTF"},
		{"kind 0", put(24+4, 0), "BTF type [1] at offset 0x18: unknown kind 0"},
		{"kind 23", put(24+4, 23<<24), "unknown kind 23"},
		{"too many sites", put(24+4, 22<<24|0xffffff), "LOCSEC with 16777215 elements needs"},
		{"too many members", put(24+4, 4<<24|0xffff), "STRUCT with 65535 elements needs"},
	} {
		data := c.edit(append([]byte(nil), good...))
		_, err := Parse(data, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if names := FunctionNames(data, nil, map[uint32]string{1: ""}); names == nil ||
			err != nil && names.Error() != err.Error() {
			t.Errorf("%s: FunctionNames: %v, Parse: %v", c.name, names, err)
		}
	}
}

// TestLongHeader reads headers that are longer than the known fields but have only zeros after
// them.
func TestLongHeader(t *testing.T) {
	want := example(binary.LittleEndian)
	good := encoded(t, want, EncodeOptions{})
	for _, n := range []int{28, 32, 40, 64} {
		data := append(append(append([]byte(nil), good[:24]...), make([]byte, n-24)...), good[24:]...)
		binary.LittleEndian.PutUint32(data[4:], uint32(n))
		got, err := Parse(data, nil)
		if err != nil {
			t.Fatal(n, err)
		}
		if !sameContent(got, want) {
			t.Error(n, "different content")
		}
	}
}

func TestParseAll(t *testing.T) {
	want := example(binary.LittleEndian)
	one := encoded(t, want, EncodeOptions{})
	for _, pad := range []int{0, 1, 3} {
		data := bytes.Join([][]byte{one, one, one}, make([]byte, pad))
		got, err := ParseAll(data, nil)
		if err != nil {
			t.Fatal(pad, err)
		}
		if len(got) != 3 || !sameContent(got[0], want) || !sameContent(got[2], want) {
			t.Errorf("padding %d: %d blobs, want 3 equal ones", pad, len(got))
		}
	}
	if _, err := ParseAll(append(append([]byte(nil), one...), "junk of some length"...),
		nil); err == nil || !strings.Contains(err.Error(), "no BTF magic") {
		t.Errorf("junk after a blob: error %v", err)
	}
}

func TestSplit(t *testing.T) {
	base := example(binary.LittleEndian)
	b := NewBuilder(binary.LittleEndian, base, nil)
	if b.NextID() != base.EndID() {
		t.Fatalf("first id %d, want %d", b.NextID(), base.EndID())
	}
	if off := b.Name("int"); off >= base.EndStr() {
		t.Errorf("a name of the base has a new offset %d", off)
	}
	mid := b.Composite(KindStruct, "split", 4, false, Member{NameOff: b.Name("a"), Type: 1})
	mb := b.Finish()
	c := NewBuilder(binary.LittleEndian, mb, nil)
	top := c.Ref(KindTypedef, "top", mid)
	data := encoded(t, c.Finish(), EncodeOptions{})
	got := must.Get(Parse(data, mb))(t)
	for id, want := range map[uint32]string{1: "int", mid: "split", top: "top"} {
		x, _ := got.ByID(id)
		if x == nil || got.TypeName(x) != want {
			t.Errorf("[%d]: %+v named %q, want %q", id, x, got.TypeName(x), want)
		}
	}
	if x, _ := got.ByID(top + 1); x != nil {
		t.Error("a type after the last")
	}
	if x, o := got.ByID(mid); o != mb || o.MembersOf(x)[0].Type != 1 {
		t.Error("the struct is not found in its own blob")
	}
	if _, err := got.Name(got.EndStr()); err == nil {
		t.Error("a string after the last")
	}
	if _, err := Parse(encoded(t, example(binary.BigEndian), EncodeOptions{}), base); err == nil {
		t.Error("a base of the other byte order is accepted")
	}
}

func TestEncodeLimits(t *testing.T) {
	many := NewBuilder(nil, nil, nil)
	for range MaxLastTypeID + 1 {
		many.Add(Type{Kind: KindPtr})
	}
	wide := NewBuilder(nil, nil, nil)
	wide.Composite(KindStruct, "wide", 0, false, make([]Member, MaxVlen+1)...)
	long := NewBuilder(nil, nil, nil)
	long.Name(strings.Repeat("x", MaxNameOff))
	for _, c := range []struct {
		b    *Builder
		want string
	}{
		{many, "the last type id would be 1048575"},
		{wide, "[1] STRUCT wide: 65536 elements"},
		{long, "bytes of strings"},
	} {
		if _, err := c.b.Encode(EncodeOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func TestRunningKernelRoundTrip(t *testing.T) {
	data := kernelBTF(t)
	b := must.Get(Parse(data, nil))(t)
	out := encoded(t, b, b.Header.Form())
	got := must.Get(Parse(out, nil))(t)
	if !sameContent(got, b) {
		t.Fatal("read back different content")
	}
	if !bytes.Equal(out, data) {
		t.Fatalf("encoding the parsed blob gives different bytes (%d, was %d)", len(out), len(data))
	}
}

func BenchmarkParse(b *testing.B) {
	data := kernelBTF(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		must.Get(Parse(data, nil))(b)
	}
}

func BenchmarkEncode(b *testing.B) {
	data := kernelBTF(b)
	blob := must.Get(Parse(data, nil))(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		must.Get(Encode(blob, EncodeOptions{}))(b)
	}
}

// checkKinds compares the counts of CountKinds with the types that Parse has read from data.
func checkKinds(t *testing.T, data []byte, b *Blob) {
	t.Helper()
	var want [NumKinds]int
	for i := range b.Types {
		want[b.Types[i].Kind]++
	}
	_, parseErr := Parse(data, nil) // there may be zeros after the blob
	if got, err := CountKinds(data, nil); (err == nil) != (parseErr == nil) ||
		err == nil && got != want {
		t.Errorf("CountKinds: %v, %v; Parse: %v, %v", got, err, want, parseErr)
	}
}

func FuzzParse(f *testing.F) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, layout := range []bool{false, true} {
			one := encoded(f, example(order), EncodeOptions{Layout: layout})
			f.Add(one)
			f.Add(append(append([]byte(nil), one...), one...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		blobs, err := ParseAll(data, nil)
		if err != nil {
			return
		}
		if len(blobs) == 1 {
			checkKinds(t, data, blobs[0])
		}
		for _, b := range blobs {
			for i := range b.Types {
				id := b.StartID + uint32(i)
				if x, o := b.ByID(id); x != &b.Types[i] || o != b {
					t.Fatal("a type is not found by its id")
				}
				b.TypeName(&b.Types[i])
			}
			out, err := Encode(b, EncodeOptions{})
			if err != nil {
				continue // more than the narrow form holds
			}
			again, err := Parse(out, nil)
			if err != nil {
				t.Fatal("what was written cannot be read:", err)
			}
			if !sameContent(again, b) {
				t.Fatal("read back different content")
			}
		}
	})
}

// TestFunctionNames reads a split blob, and compares the names with those that Parse reads. It
// looks up ids in the blob, ids in its base, and unknown ids.
func TestFunctionNames(t *testing.T) {
	base := example(binary.LittleEndian)
	b := NewBuilder(binary.LittleEndian, base, nil)
	b.Ref(KindFunc, "own_function", 1)
	b.Ref(KindTypedef, "no_function", 1)
	b.Ref(KindFunc, "int", 1) // a name of the base
	data := encoded(t, b.Finish(), EncodeOptions{})
	blob := must.Get(Parse(data, base))(t)
	names, functions := map[uint32]string{}, 0
	for id := range blob.EndID() + 3 {
		names[id] = ""
	}
	must.OK(t, FunctionNames(data, base, names))
	for id, got := range names {
		want := ""
		if typ, _ := blob.ByID(id); typ != nil && typ.Kind == KindFunc {
			want = blob.TypeName(typ)
			functions++
		}
		if got != want {
			t.Errorf("[%d]: %q, want %q", id, got, want)
		}
	}
	if functions < 3 {
		t.Errorf("%d functions; want one in the base too", functions)
	}
}

// TestDefinitions lists the functions and variables of a blob, with their linkage.
func TestDefinitions(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := NewBuilder(order, nil, nil)
		b.Int("int", 4, IntSigned, 0)
		b.Func("f", b.FuncProto(1), LinkageGlobal)
		b.Datasec(".data", 4, Secinfo{Type: b.Var("v", 1, LinkageStatic), Size: 4})
		b.Var("far", 1, LinkageExtern)
		data, err := b.Encode(EncodeOptions{})
		must.OK(t, err)
		var got []string
		err = Definitions(data, func(kind Kind, linkage uint32, name []byte) {
			got = append(got, fmt.Sprintf("%v %s %d", kind, name, linkage))
		})
		if want := []string{"FUNC f 1", "VAR v 0", "VAR far 2"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %q, %v, want %q", order, got, err, want)
		}
		if err := Definitions(data[:len(data)-1], nil); err == nil {
			t.Error("no error for a blob that is cut off")
		}
	}
}
