package base

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// onCycles returns BTF with a typedef in a cycle that passes through no tag. The BTF also has
// everything else that an outline of a base must keep.
func onCycles(order binary.ByteOrder) *btf.Blob {
	b := btf.NewBuilder(order, nil, nil)
	i := b.Int("int", 4, 1, 32)
	loop := b.NextID()
	b.Ref(btf.KindTypedef, "loop", loop+1)
	b.Ref(btf.KindPtr, "", loop+2)
	b.FuncProto(loop)
	s := b.NextID()
	b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("i"), Type: i})
	b.Composite(btf.KindUnion, "u", 4, false, btf.Member{NameOff: b.Name("i"), Type: i})
	b.Enum(btf.KindEnum, "e", 4, false, btf.Enumerator{Value: 1, NameOff: b.Name("ONE")})
	b.Enum(btf.KindEnum64, "e64", 8, true, btf.Enumerator{Value: 1 << 40, NameOff: b.Name("BIG")})
	inner := b.Composite(btf.KindStruct, "", 4, false, btf.Member{NameOff: b.Name("s"), Type: s})
	b.Ref(btf.KindTypedef, "inner_t", inner)
	b.Fwd("declared", true)
	b.Enum(btf.KindEnum, "", 4, false, btf.Enumerator{Value: 2, NameOff: b.Name("TWO")})
	b.FuncProto(i, btf.Param{NameOff: b.Name("s"), Type: s}, btf.Param{})
	return b.Finish()
}

// allOf returns split BTF that refers to each type of base through a pointer, a member and a
// modifier. It also defines some tags of base differently.
func allOf(base *btf.Blob) *btf.Blob {
	b := btf.NewBuilder(base.Order, base, nil)
	for id := uint32(1); id < base.EndID(); id++ {
		switch t, _ := base.ByID(id); t.Kind {
		case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag, btf.KindLocParam,
			btf.KindLocProto, btf.KindLocsec:
			continue
		}
		p := b.Ref(btf.KindPtr, "", id)
		b.Composite(btf.KindStruct, "", 8, false, btf.Member{NameOff: b.Name("p"), Type: p},
			btf.Member{NameOff: b.Name("x"), Type: id})
		b.Ref(btf.KindConst, "", id)
	}
	again := b.Composite(btf.KindStruct, "s", 1, false)
	b.Ref(btf.KindPtr, "", again)
	b.Composite(btf.KindStruct, "s", 2, false)
	b.Enum(btf.KindEnum, "e", 1, false, btf.Enumerator{Value: 3, NameOff: b.Name("THREE")})
	b.DeclTag("tag", again, 0xffffffff)
	return b.Finish()
}

// TestOutline: an index made with an outline of the base has the same bytes as one made with the
// whole chain.
func TestOutline(t *testing.T) {
	cases := map[string]*btf.Blob{}
	for name, order := range map[string]binary.ByteOrder{"little": binary.LittleEndian,
		"big": binary.BigEndian} {
		one := small(nil, order, "")
		two := small(one, order, "mod_")
		cases[name+" two"], cases[name+" three"] = two, small(two, order, "")
		cases[name+" all of a small one"] = allOf(one)
		cases[name+" all of three"] = allOf(cases[name+" three"])
		cases[name+" cycles"] = allOf(onCycles(order))
		cases[name+" on all"] = allOf(cases[name+" cycles"])
		cases[name+" nothing"] = btf.NewBuilder(order, one, nil).Finish()
	}
	if kernel, err := btf.ReadOne("/sys/kernel/btf/vmlinux", nil); err == nil {
		modules, _ := filepath.Glob("/sys/kernel/btf/*")
		for _, path := range modules[:min(len(modules), 8)] {
			if b, err := btf.ReadOne(path, kernel); err == nil && filepath.Base(path) != "vmlinux" {
				cases[path] = b
			}
		}
	}
	if dir := os.Getenv("MODULES_BTF"); dir != "" { // the output of btfgen modules
		kernel, err := btf.ReadOne(filepath.Join(dir, "vmlinux.btf"), nil)
		must.OK(t, err)
		modules, _ := filepath.Glob(filepath.Join(dir, "*.btf"))
		for _, path := range modules {
			if filepath.Base(path) == "vmlinux.btf" {
				continue
			}
			if cases[path], err = btf.ReadOne(path, kernel); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, b := range cases {
		t.Run(name, func(t *testing.T) {
			chain := object.Chain(b)
			want := must.Get(build(chain, len(chain)-1, false))(t)
			got := must.Get(indexOnOutline(b, header{}))(t)
			if !bytes.Equal(got, want[0]) {
				t.Errorf("%d bytes differ from the %d bytes of the index on the whole chain",
					len(got), len(want[0]))
			}
		})
	}
}

// TestWith puts BTF in memory on top of BTF in files, and on top of an empty chain.
func TestWith(t *testing.T) {
	dir := t.TempDir()
	one := small(nil, binary.LittleEndian, "")
	two := small(one, binary.LittleEndian, "mod_")
	path, index := files(t, dir, "one", one)
	data, err := btf.Encode(two, btf.EncodeOptions{})
	must.OK(t, err)
	opened := func(path string) *Files {
		f := must.Get(Open([]string{path}))(t)
		t.Cleanup(f.Close)
		return f
	}
	f := opened(path)
	for range 2 { // With doesn't change f
		more := must.Get(f.With(data))(t)
		compare(t, more.Base, newReference(t, two))
	}
	compare(t, f.Base, newReference(t, one))
	if data, err = btf.Encode(one, btf.EncodeOptions{}); err != nil {
		t.Fatal(err)
	}
	alone, err := new(Files).With(data)
	must.OK(t, err)
	compare(t, alone.Base, newReference(t, one))
	if _, err := opened(index).With(data); err == nil {
		t.Error("an index is accepted without its BTF")
	}
	if _, err := f.With(data[:20]); err == nil {
		t.Error("half a header is accepted")
	}
	bad := btf.NewBuilder(binary.LittleEndian, one, nil)
	bad.Ref(btf.KindPtr, "", 1000)
	if data, err = bad.Encode(btf.EncodeOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.With(data); err == nil {
		t.Error("a reference to a type that does not exist is accepted")
	}
}

// FuzzOutline compares two indices of arbitrary split BTF: one made with an outline of the base,
// and one made with the whole chain.
func FuzzOutline(f *testing.F) {
	one := small(nil, binary.LittleEndian, "")
	cycles := onCycles(binary.LittleEndian)
	for i, b := range []*btf.Blob{small(one, binary.LittleEndian, "mod_"), allOf(one), allOf(cycles)} {
		data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(f)
		f.Add(data, i == 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, onTheOther bool) {
		base := one
		if onTheOther {
			base = cycles
		}
		b, err := btf.Parse(data, base)
		if err != nil {
			return
		}
		got, gotErr := indexOnOutline(b, header{})
		want, err := build(object.Chain(b), 1, false)
		if err != nil {
			return // for example, types form a cycle; an outline may miss errors in the base
		}
		if gotErr != nil || !bytes.Equal(got, want[0]) {
			t.Errorf("the index on an outline differs (%v)", gotErr)
		}
	})
}
