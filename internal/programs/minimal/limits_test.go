package minimal_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/minimal"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// allAbout returns needs with relocations of all kinds about the first 40 types of a local BTF.
func allAbout(local *core.BTF) *needs.Needs {
	n := &needs.Needs{Order: local.Order, Local: local}
	p := needs.Program{Name: "all"}
	for i := range local.Types[:min(len(local.Types), 40)] {
		id := local.StartID + uint32(i)
		for kind := range core.NumKinds {
			for _, access := range []string{"0", "0:0", "0:1", "0:0:0", "1:0"} {
				r := core.Relocation{Kind: kind, Type: id, Access: access, Memory: uint8(i%2) * 4}
				if _, err := core.Parse(local, r); err == nil {
					p.Relocations = append(p.Relocations, r)
				}
			}
		}
		t, _ := local.ByID(id)
		for _, kind := range []needs.SymbolKind{needs.Function, needs.RawTP, needs.StructOps,
			needs.Variable} {
			p.Symbols = append(p.Symbols, needs.Symbol{Kind: kind, Name: local.TypeName(t)})
		}
	}
	n.Programs = []needs.Program{p}
	return n
}

func checked(t testing.TB, b *btf.Builder) *core.BTF {
	t.Helper()
	c := must.Get(core.NewBTF(b.Finish(), nil))(t)
	return c
}

// FuzzBuild checks that, for any BTF, Build neither panics nor runs for long, and that its result
// can be read.
func FuzzBuild(f *testing.F) {
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)
	b.Ref(btf.KindPtr, "", 4)
	b.Array(1, 1, 4)
	b.Composite(btf.KindStruct, "s", 24, false, btf.Member{NameOff: b.Name("a"), Type: 3},
		btf.Member{NameOff: b.Name("p"), Type: 2, Offset: 128})
	b.Ref(btf.KindTypedef, "s_t", 4)
	b.Func("f", b.FuncProto(1, btf.Param{NameOff: b.Name("s"), Type: 2}), btf.LinkageStatic)
	b.Enum(btf.KindEnum, "e", 4, false, btf.Enumerator{NameOff: b.Name("A"), Value: 1})
	b.Fwd("fwd", false)
	b.Ref(btf.KindTypedef, "loop", 11)
	b.Composite(btf.KindUnion, "u", 8, false, btf.Member{Type: 4}, btf.Member{Type: 11})
	b.Ref(btf.KindConst, "", 10)
	b.Locsec("inline.text", btf.Site{Func: 7, LocProto: b.LocProto(b.LocParam(8, btf.LocReg, 5))})
	data := must.Get(b.Encode(btf.EncodeOptions{}))(f)
	f.Add(data, data)
	f.Fuzz(func(t *testing.T, program, kernel []byte) {
		var both [2]*core.BTF
		for i, data := range [][]byte{program, kernel} {
			blob, err := btf.Parse(data, nil)
			if err != nil {
				return
			}
			if both[i], err = core.NewBTF(blob, nil); err != nil {
				return
			}
		}
		for _, hooks := range []bool{false, true} {
			r, err := minimal.Build(&core.Kernel{Vmlinux: both[1]}, []*needs.Needs{allAbout(both[0])},
				minimal.Options{Hooks: hooks})
			if err != nil {
				continue
			}
			if _, err := btf.Parse(r.Vmlinux, nil); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLimits checks that Build doesn't take long for types that are nested deeply or in a cycle.
func TestLimits(t *testing.T) {
	for name, f := range map[string]func(b *btf.Builder){
		"structs, each twice in the next": func(b *btf.Builder) {
			at := b.Int("int", 4, 0, 0)
			for i := range 39 {
				at = b.Composite(btf.KindStruct, fmt.Sprintf("s%d", i), 4, false,
					btf.Member{NameOff: b.Name("x"), Type: at}, btf.Member{NameOff: b.Name("y"), Type: at})
			}
		},
		"prototypes, each twice in the next": func(b *btf.Builder) {
			at := b.Int("int", 4, 0, 0)
			for i := range 13 {
				at = b.Ref(btf.KindPtr, "", b.FuncProto(at, btf.Param{Type: at}, btf.Param{Type: at}))
				at = b.Ref(btf.KindTypedef, fmt.Sprintf("t%d", i), at)
			}
		},
		"circles": func(b *btf.Builder) {
			b.Ref(btf.KindTypedef, "a", 2)
			b.Ref(btf.KindTypedef, "b", 1)
			b.Composite(btf.KindStruct, "s", 8, false, btf.Member{NameOff: b.Name("x"), Type: 1},
				btf.Member{NameOff: b.Name("s"), Type: 3}, btf.Member{Type: 3})
			b.Ref(btf.KindTypedef, "p", b.Ref(btf.KindPtr, "", 4))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := btf.NewBuilder(binary.LittleEndian, nil, nil)
			f(b)
			c := checked(t, b)
			programtest.Bounded(t, len(c.Types), 5*time.Second, 0, func() {
				_, err := minimal.Build(&core.Kernel{Vmlinux: c}, []*needs.Needs{allAbout(c)},
					minimal.Options{Hooks: true})
				t.Log(err)
			})
		})
	}
}

// TestPointerSize checks that minimal BTF keeps the size of a pointer. Readers infer it from the
// size of a base type "long", which gcc and clang name differently.
func TestPointerSize(t *testing.T) {
	for _, long := range []string{"long unsigned int", "unsigned long", "long int"} {
		b := btf.NewBuilder(binary.LittleEndian, nil, nil)
		b.Int("long long unsigned int", 8, 0, 0)
		b.Int("int", 4, btf.IntSigned, 0)
		b.Int(long, 4, 0, 0)
		b.Ref(btf.KindPtr, "", 2)
		b.Composite(btf.KindStruct, "s", 8, false, btf.Member{NameOff: b.Name("i"), Type: 2},
			btf.Member{NameOff: b.Name("p"), Type: 4, Offset: 32})
		kernel := checked(t, b)
		l := btf.NewBuilder(binary.LittleEndian, nil, nil)
		l.Composite(btf.KindStruct, "s", 8, false, btf.Member{NameOff: l.Name("p"), Type: 2})
		l.Ref(btf.KindPtr, "", 0)
		n := &needs.Needs{Order: binary.LittleEndian, Local: checked(t, l), Programs: []needs.Program{
			{Relocations: []core.Relocation{{Kind: core.FieldByteSize, Type: 1, Access: "0:0"}}}}}
		r := build(t, &core.Kernel{Vmlinux: kernel}, minimal.Options{}, n)
		small := parse(t, r.Vmlinux, nil)
		if small.PointerSize() != 4 || !bytes.Contains(r.Vmlinux, []byte(long)) {
			t.Errorf("%s: pointers of %d bytes", long, small.PointerSize())
		}
	}
}
