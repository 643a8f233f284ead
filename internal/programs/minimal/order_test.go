package minimal_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/minimal"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// orderCases has programs for kernels with several types of one name, and the operation code of
// libbpf's instruction, whose size is that of the first type.
var orderCases = []struct {
	name    string
	kernel  []string // sources, in the order in which the kernel's BTF has their types
	module  string
	program string
	opt     minimal.Options
	want    string
}{
	{name: "bytes before longs",
		kernel: []string{"struct c { _Bool b; } c;", "struct c { unsigned long b; int *c; };"},
		want:   "71"},
	{name: "longs before bytes",
		kernel: []string{"struct c { unsigned long b; int *c; };", "struct c { _Bool b; } c;"},
		want:   "79"},
	{name: "three types",
		kernel: []string{"struct c { unsigned short b; };", "struct c { unsigned char b; };",
			"struct c { unsigned b; };"},
		want: "69"},
	{name: "a type between two that become equal",
		kernel: []string{"struct c { unsigned b, x; };", "struct c { unsigned char b; long x; };",
			"struct c { unsigned b; int y; };"},
		want: "61"},
	{name: "a flavor in the kernel",
		kernel: []string{"struct c___old { unsigned short b; };", "struct c { unsigned char b; };"},
		want:   "69"},
	{name: "unions",
		kernel:  []string{"union c { unsigned char b; };", "union c { unsigned b; };"},
		program: "union c { _Bool b; } P; PROG { out = ((union c *)ctx)->b; return 0; }",
		want:    "71"},
	{name: "typedefs",
		kernel:  []string{"typedef struct { unsigned char b; } c;", "typedef struct { unsigned b; } c;"},
		program: "typedef struct { unsigned short b; } P c; PROG { out = ((c *)ctx)->b; return 0; }",
		want:    "71"},
	{name: "a member of a member",
		kernel: []string{"struct in { unsigned char b; }; struct c { struct in b; };",
			"struct in { unsigned b; }; struct c { struct in b; };"},
		program: "struct c { struct { _Bool b; } P b; } P;" +
			"PROG { out = ((struct c *)ctx)->b.b; return 0; }",
		want: "71"},
	{name: "an array that becomes flexible if only it is kept",
		kernel: []string{"struct c { int n; unsigned char b[0]; int last; };",
			"struct c { int n; unsigned b[4]; };"},
		program: "struct c { unsigned b[4]; } P;" +
			"PROG { out = ((struct c *)ctx)->b[0]; out = byte_off(((struct c *)0)->b); return 0; }",
		want: "61"},
	{name: "a module",
		kernel: []string{"struct other { int x; };"},
		module: "struct c { unsigned b; }; struct holder { struct c c; };",
		want:   "61"},
	{name: "a module, flat",
		kernel: []string{"struct c { unsigned char b; };", "struct c { unsigned b; };"},
		module: "struct c { unsigned short b; }; struct own { struct c c; };",
		program: "struct c { _Bool b; } P; struct own { struct c c; } P;" +
			"PROG { out = ((struct c *)ctx)->b; out = byte_off(((struct own *)0)->c); return 0; }",
		opt:  minimal.Options{Flat: true},
		want: "71"},
}

// TestOrder checks that libbpf makes the same instructions with the minimal BTF as with the whole
// BTF if types of one name agree about the offset of a field, but not about its size.
func TestOrder(t *testing.T) {
	lib := bpftest.NewLibbpf(t)
	for _, c := range orderCases {
		t.Run(c.name, func(t *testing.T) {
			blobs := [][]byte{bpftest.Kernel(t, c.kernel...)}
			if c.module != "" {
				blobs = append(blobs, bpftest.Module(t, blobs[0], c.module))
			}
			source := "struct c { _Bool b; } P; PROG { out = ((struct c *)ctx)->b; return 0; }"
			if c.program != "" {
				source = c.program
			}
			object := compileProgram(t, source)
			whole := lib.Instructions(t, object, blobs[0], blobs[1:]...)
			r := build(t, bpftest.Parse(t, blobs[0], blobs[1:]...), c.opt, extract(t, object))
			small := [][]byte{r.Vmlinux}
			if data := r.Modules["m0"]; data != nil {
				small = append(small, data)
			}
			found := false
			for at, got := range lib.Instructions(t, object, small[0], small[1:]...) {
				found = found || got[:2] == c.want
				if got != whole[at] {
					t.Errorf("%v: %s with the minimal BTF, %s with the whole BTF", at, got, whole[at])
				}
			}
			if !found {
				t.Errorf("no instruction has the operation code %s: %v", c.want, whole)
			}
		})
	}
}

// TestFirst checks, for everything that programs name, that the first of several types of one name
// is the same in the minimal BTF as in the whole BTF.
func TestFirst(t *testing.T) {
	builds := map[string]struct {
		kind    needs.SymbolKind
		variant func(b *btf.Builder, integer uint32)
	}{
		"function": {needs.Function, func(b *btf.Builder, integer uint32) {
			b.Func("it", b.FuncProto(0, btf.Param{NameOff: b.Name("x"), Type: integer}), btf.LinkageStatic)
		}},
		"kfunc": {needs.Kfunc, func(b *btf.Builder, integer uint32) {
			f := b.Func("it", b.FuncProto(0, btf.Param{NameOff: b.Name("x"), Type: integer}),
				btf.LinkageStatic)
			b.DeclTag("bpf_kfunc", f, btf.DeclTagWhole)
		}},
		"variable": {needs.Variable, func(b *btf.Builder, integer uint32) {
			b.Var("it", integer, btf.LinkageStatic)
		}},
		"raw tracepoint": {needs.RawTP, func(b *btf.Builder, integer uint32) {
			proto := b.FuncProto(0, btf.Param{Type: integer}, btf.Param{Type: integer})
			b.Ref(btf.KindTypedef, "btf_trace_it", b.Ref(btf.KindPtr, "", proto))
		}},
		"struct_ops": {needs.StructOps, func(b *btf.Builder, integer uint32) {
			x := btf.Member{NameOff: b.Name("x"), Type: integer}
			size := b.Blob.Types[integer-1].SizeOrType
			ops := b.Composite(btf.KindStruct, "it", size, false, x)
			b.Composite(btf.KindStruct, core.StructOpsValue("it"), size, false,
				btf.Member{NameOff: b.Name("data"), Type: ops})
		}},
	}
	for name, c := range builds {
		for _, reverse := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := btf.NewBuilder(binary.LittleEndian, nil, nil)
				var integers []uint32
				for i, name := range []string{"char", "short", "int", "long"} {
					integers = append(integers, b.Int(name, 1<<i, 0, 0))
				}
				if reverse {
					slices.Reverse(integers)
				}
				for _, id := range integers {
					c.variant(b, id)
				}
				l := btf.NewBuilder(binary.LittleEndian, nil, nil)
				integer := l.Int("int", 4, 0, 0)
				c.variant(l, integer)
				s := needs.Symbol{Kind: c.kind, Name: "it"}
				if c.kind == needs.StructOps {
					s.Type = 2
				}
				n := &needs.Needs{Order: binary.LittleEndian, Local: checked(t, l),
					Programs: []needs.Program{{Symbols: []needs.Symbol{s}}}}
				whole := &core.Kernel{Vmlinux: checked(t, b)}
				r := build(t, whole, minimal.Options{Hooks: true}, n)
				small := bpftest.Parse(t, r.Vmlinux)
				first := func(kernel *core.Kernel) string {
					k := kernel.Index(needs.Names(n))
					if c.kind == needs.StructOps {
						ops := must.Get(k.StructOps("it"))(t)
						return describe(ops.BTF.Blob, ops.ID, 8, true)
					}
					list := k.Find(s.BTFName(), s.Kind.BTFKind())
					if len(list) == 0 {
						t.Fatal("nothing is left")
					}
					return describe(list[0].BTF.Blob, list[0].ID, 8, true)
				}
				if want, got := first(whole), first(small); got != want {
					t.Errorf("the first is %s in the minimal BTF, %s in the whole BTF", got, want)
				}
			})
		}
	}
}
