package implicitargs_test

import (
	"os"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/kernel/implicitargs"
)

// ExampleRewrite removes the last parameter of a kfunc, a pointer to a struct bpf_prog_aux, because
// BPF programs don't pass it.
func ExampleRewrite() {
	b := btf.NewBuilder(nil, nil, nil)
	number := b.Int("int", 4, btf.IntSigned, 0)
	aux := b.Ref(btf.KindPtr, "", b.Composite(btf.KindStruct, "bpf_prog_aux", 8, false))
	proto := b.FuncProto(number, btf.Param{NameOff: b.Name("arg"), Type: number},
		btf.Param{NameOff: b.Name("aux"), Type: aux})
	b.DeclTag("bpf_kfunc", b.Func("bpf_foo", proto, btf.LinkageGlobal), btf.DeclTagWhole)
	raw, err := implicitargs.Rewrite(b.Finish(), []string{"bpf_foo"}, 1)
	if err != nil {
		panic(err)
	}
	changed, err := btf.Parse(raw, nil)
	if err != nil {
		panic(err)
	}
	if err := dump.Raw(os.Stdout, changed); err != nil {
		panic(err)
	}
	// Output:
	// [1] PTR '(anon)' type_id=7
	// [2] FUNC_PROTO '(anon)' ret_type_id=8 vlen=1
	// 	'arg' type_id=8
	// [3] FUNC_PROTO '(anon)' ret_type_id=8 vlen=2
	// 	'arg' type_id=8
	// 	'aux' type_id=1
	// [4] FUNC 'bpf_foo' type_id=2 linkage=global
	// [5] FUNC 'bpf_foo_impl' type_id=3 linkage=global
	// [6] DECL_TAG 'bpf_kfunc' type_id=4 component_idx=-1
	// [7] STRUCT 'bpf_prog_aux' size=8 vlen=0
	// [8] INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED
}
