package kabi

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// module makes split BTF with a struct ops, a function that the module exports, and a function that
// other modules have too.
func module(t *testing.T, kernel *btf.Blob, name string) *btf.Blob {
	t.Helper()
	b := btf.NewBuilder(nil, kernel, nil)
	var task uint32
	for id, x := range kernel.All() {
		if kernel.TypeName(x) == "task" {
			task = id
		}
	}
	ops := b.Composite(btf.KindStruct, "ops", 8, false,
		btf.Member{NameOff: b.Name("owner"), Type: b.Ref(btf.KindPtr, "", task)})
	pointer := b.Ref(btf.KindPtr, "", ops)
	proto := b.FuncProto(0, btf.Param{NameOff: b.Name("ops"), Type: pointer})
	b.Func(name+"_register", proto, btf.LinkageGlobal)
	b.Func("helper", b.FuncProto(0, btf.Param{NameOff: b.Name(name), Type: pointer}),
		btf.LinkageGlobal)
	return b.Finish()
}

const integer = `{"kind":"int","name":"int","bits":32,"size":4,"signed":true}`

const kernelSource = `struct fs { int count; };
	struct unrelated { int x; } *u;
	struct task { struct fs *fs; struct task *next; int comm[2]; };
	void wake(struct task *t) {}
	void unrelated(struct unrelated *u) {}
	int helper(void) { return 0; }`

func text(t testing.TB, b *btf.Blob) string {
	t.Helper()
	var out bytes.Buffer
	must.OK(t, btftext.Write(&out, b))
	return out.String()
}

var unread = regexp.MustCompile(`(?s)^.*"types":\[\n|,"sum":"\w+"|\n]}\n$`)

// TestReduce: of a kernel with two modules, only what the symbols reach is left, and types of both
// modules are there once.
func TestReduce(t *testing.T) {
	kernel := compile(t, kernelSource)
	set := diff.Set{Kernel: kernel, Modules: map[string]*btf.Blob{
		"one": module(t, kernel, "one"), "two": module(t, kernel, "two")}}
	const types = `{"kind":"struct","name":"fs","size":4,"members":[
  {"at":0,"name":"count","type":"int"}
]},
{"kind":"struct","name":"ops","size":8,"members":[
  {"at":0,"name":"owner","type":"*struct task"}
]},
{"kind":"struct","name":"task","size":24,"members":[
  {"at":0,"name":"fs","type":"*struct fs"},
  {"at":8,"name":"next","type":"*struct task"},
  {"at":16,"name":"comm","type":"[2]int"}
]},
{"kind":"int","name":"__ARRAY_SIZE_TYPE__","bits":32,"size":4},
` + integer
	for _, c := range []struct{ name, symbols, declared, want string }{
		{"both modules", "one_register\ntwo_register\nwake", "",
			`{"kind":"func","name":"one_register","params":[
  {"name":"ops","type":"*struct ops"}
]},
{"kind":"func","name":"two_register","params":[
  {"name":"ops","type":"*struct ops"}
]},
{"kind":"func","name":"wake","params":[
  {"name":"t","type":"*struct task"}
]},
` + types},
		{"the module of a symbol", "0x0\thelper\ta/two\tEXPORT_SYMBOL\n", "",
			`{"kind":"func","name":"helper","params":[
  {"name":"two","type":"*struct ops"}
]},
` + types},
		{"the kernel's symbol", "0x0\thelper\tvmlinux\tEXPORT_SYMBOL\n", "",
			`{"kind":"func","name":"helper","result":{"type":"int"}},
` + integer},
		{"a declaration", "one_register", "struct task",
			`{"kind":"func","name":"one_register","params":[
  {"name":"ops","type":"*struct ops"}
]},
{"kind":"struct","name":"ops","size":8,"members":[
  {"at":0,"name":"owner","type":"*struct task"}
]},
{"kind":"struct","name":"task","declared":true}`},
		{"nothing", "nothing", "", "nil"},
	} {
		list, err := ReadSymbols([]byte(c.symbols))
		must.OK(t, err)
		b, err := FromSet(set).Reduce(list, func(title string) bool { return title == c.declared })
		must.OK(t, err)
		got := "nil"
		if b != nil {
			got = unread.ReplaceAllString(text(t, b), "")
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestReferenceIsEqual: a reference equals the kernel from which it was made, and reducing it
// changes nothing.
func TestReferenceIsEqual(t *testing.T) {
	kernel := FromSide(diff.Side{compile(t, kernelSource)})
	list := symbols(t, "wake helper")
	b, report, err := Reference(kernel, append(list, Symbol{Name: "zzz"}), nil)
	if err != nil || !slices.Equal(report.Missing, []string{"zzz"}) {
		t.Fatal(report, err)
	}
	again, err := btftext.Read([]byte(text(t, b)))
	must.OK(t, err)
	reference := FromSide(diff.Side{again})
	r, result, err := Compare(reference, kernel, [2]string{}, Options{Symbols: SymbolsOf(again)})
	if err != nil || !result.Same() || r.Symbols != 2 {
		t.Errorf("%v, %v, %v", r, result, err)
	}
	if b, _, err := Reference(reference, list, nil); err != nil || text(t, b) != text(t, again) {
		t.Errorf("reduced again: %v", err)
	}
}

// TestOrder: the ids of the types don't matter.
func TestOrder(t *testing.T) {
	kernel := compile(t, kernelSource)
	list := symbols(t, "wake helper unrelated")
	want := must.Get(FromSide(diff.Side{kernel}).Reduce(list, func(string) bool { return false }))(t)
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		order := rnd.Perm(len(kernel.Types))
		b := btf.NewBuilder(nil, nil, nil)
		at := make([]uint32, len(order)+1)
		for i, n := range order {
			at[n+1] = uint32(i) + 1
		}
		for _, n := range order {
			b.Blob.Copy(kernel, &kernel.Types[n], func(off uint32) uint32 {
				name, _ := kernel.Name(off)
				return b.Name(name)
			}, func(id uint32) uint32 { return at[id] })
		}
		got, err := FromSide(diff.Side{b.Finish()}).Reduce(list, func(string) bool { return false })
		must.OK(t, err)
		if text(t, got) != text(t, want) {
			t.Fatalf("seed %d:\n%s", seed, text(t, got))
		}
	}
}
