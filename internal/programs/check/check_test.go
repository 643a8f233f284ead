package check_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/programs/reach"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func checked(t *testing.T, b *btf.Builder, base *core.BTF) *core.BTF {
	t.Helper()
	c := must.Get(core.NewBTF(b.Finish(), base))(t)
	return c
}

// TestSymbols checks the verdicts on symbols: whether the kernel or a module has the symbol, with
// the type that the program declares.
func TestSymbols(t *testing.T) {
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 32)
	s := b.Composite(btf.KindStruct, "s", 0, false)
	b.Func("do_exit", b.FuncProto(0, btf.Param{NameOff: b.Name("code"), Type: i}), btf.LinkageStatic)
	b.Func("bpf_lsm_file_open", b.FuncProto(i), btf.LinkageStatic)
	b.Func("bpf_iter_task", b.FuncProto(i), btf.LinkageStatic)
	b.Ref(btf.KindTypedef, "btf_trace_tick", b.Ref(btf.KindPtr, "", 0))
	b.Var("runqueues", s, btf.LinkageGlobal)
	callback := b.Ref(btf.KindPtr, "", b.FuncProto(0))
	b.Composite(btf.KindStruct, "lone_ops", 0, false)
	ops := b.Composite(btf.KindStruct, "ops", 16, false,
		btf.Member{NameOff: b.Name("begin"), Type: callback},
		btf.Member{NameOff: b.Name("flags"), Type: i, Offset: 64})
	b.Composite(btf.KindStruct, "bpf_struct_ops_ops", 24, false,
		btf.Member{NameOff: b.Name("data"), Type: ops, Offset: 64})
	b.Composite(btf.KindStruct, "bpf_struct_ops_none", 8, false)
	b.Composite(btf.KindStruct, "bpf_struct_ops_s", 8, false)
	vmlinux := checked(t, b, nil)
	m := btf.NewBuilder(binary.LittleEndian, vmlinux.Blob, nil)
	m.Func("mod_kfunc", m.FuncProto(i, btf.Param{NameOff: m.Name("s"), Type: s}), btf.LinkageStatic)
	kernel := &core.Kernel{Vmlinux: vmlinux, Modules: []core.Module{{Name: "m",
		BTF: checked(t, m, vmlinux)}}}

	l := btf.NewBuilder(binary.LittleEndian, nil, nil)
	own := l.Composite(btf.KindStruct, "s", 0, false)
	number := l.Int("int", 4, btf.IntSigned, 32)
	takesInt := l.Func("do_exit", l.FuncProto(0, btf.Param{Type: number}), btf.LinkageGlobal)
	takesNone := l.Func("do_exit", l.FuncProto(0), btf.LinkageGlobal)
	takesStruct := l.Func("mod_kfunc", l.FuncProto(number, btf.Param{Type: own}), btf.LinkageGlobal)
	wide := l.Int("long", 8, btf.IntSigned, 64)
	local4 := l.Composite(btf.KindStruct, "ops", 8, false,
		btf.Member{NameOff: l.Name("flags"), Type: number},
		btf.Member{NameOff: l.Name("gone"), Type: wide})
	local8 := l.Composite(btf.KindStruct, "ops", 8, false,
		btf.Member{NameOff: l.Name("flags"), Type: wide})
	function := l.Ref(btf.KindPtr, "", l.FuncProto(0))
	local := checked(t, l, nil)

	const other = "the program and the kernel declare it with different parameters or types"
	for _, c := range []struct {
		symbol  needs.Symbol
		verdict check.Verdict
		why     string
	}{
		{needs.Symbol{Kind: needs.Function, Name: "do_exit"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Function, Name: "do_fork"}, check.Fails,
			"the kernel has no function do_fork"},
		{needs.Symbol{Kind: needs.LSMHook, Name: "file_open"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.LSMHook, Name: "none"}, check.Fails,
			"the kernel has no function bpf_lsm_none"},
		{needs.Symbol{Kind: needs.Iterator, Name: "task"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.RawTP, Name: "tick"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.RawTP, Name: "tock"}, check.Fails,
			"the kernel has no typedef btf_trace_tock"},
		{needs.Symbol{Kind: needs.StructOps, Name: "ops"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.StructOps, Name: "none"}, check.Fails,
			"the kernel has no struct none"},
		{needs.Symbol{Kind: needs.StructOps, Name: "lone_ops"}, check.Fails,
			"the kernel has no struct bpf_struct_ops_lone_ops"},
		{needs.Symbol{Kind: needs.StructOps, Name: "s"}, check.Fails,
			"struct bpf_struct_ops_s has no member of type struct s"},
		{needs.Symbol{Kind: needs.StructOps, Name: "ops", Type: local4}, check.Loads, ""},
		{needs.Symbol{Kind: needs.StructOps, Name: "ops", Type: local8}, check.Fails,
			"the member flags has 4 bytes, where the program has 8"},
		{needs.Symbol{Kind: needs.Member, Name: "ops.begin", Type: function}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Member, Name: "ops.flags", Type: number}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Member, Name: "ops.gone", Type: function}, check.Fails,
			"struct ops has no member gone"},
		{needs.Symbol{Kind: needs.Member, Name: "ops.flags", Type: function}, check.Fails,
			"the member flags is not a pointer to a function"},
		{needs.Symbol{Kind: needs.Member, Name: "none.gone"}, check.Fails,
			"the kernel has no struct none"},

		{needs.Symbol{Kind: needs.Kfunc, Name: "do_exit", Type: takesInt}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Kfunc, Name: "do_exit", Type: takesNone}, check.Fails, other},
		{needs.Symbol{Kind: needs.Kfunc, Name: "mod_kfunc", Type: takesStruct}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Kfunc, Name: "none", Weak: true, Type: takesInt}, check.Partly,
			"the kernel has no function none"},
		{needs.Symbol{Kind: needs.Variable, Name: "runqueues", Type: own}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Variable, Name: "runqueues", Type: number}, check.Fails, other},
		{needs.Symbol{Kind: needs.Kfunc, Name: "do_exit", Weak: true, Type: takesNone}, check.Partly,
			other},
		{needs.Symbol{Kind: needs.Variable, Name: "runqueues", Weak: true, Type: number}, check.Fails,
			other},
		{needs.Symbol{Kind: needs.Variable, Name: "none", Weak: true, Type: own}, check.Partly,
			"the kernel has no variable none"},
		{needs.Symbol{Kind: needs.Kptr, Name: "s"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Kptr, Name: "none"}, check.Partly,
			"the kernel has no struct none, so it assumes that the type is the program's own"},
		{needs.Symbol{Kind: needs.Function, Name: "do_exit", Args: 1}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Function, Name: "do_exit", Args: 2}, check.Fails,
			"the program reads 2 arguments, but the kernel passes 1 (each 8 bytes count as one)"},
		{needs.Symbol{Kind: needs.LSMHook, Name: "file_open", Args: 1}, check.Fails,
			"the program reads 1 argument, but the kernel passes 0 (each 8 bytes count as one)"},
		{needs.Symbol{Kind: needs.RawTP, Name: "tick", Args: 9}, check.Loads, ""}, // no prototype
		{needs.Symbol{Kind: needs.Variable, Name: "none", Type: own}, check.Fails,
			"the kernel has no variable none"},

		{needs.Symbol{Kind: needs.Function, Name: "m:mod_kfunc"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Function, Name: "vmlinux:do_exit", Args: 2}, check.Fails,
			"the program reads 2 arguments, but the kernel passes 1 (each 8 bytes count as one)"},
		{needs.Symbol{Kind: needs.Function, Name: ":do_exit"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.RawTP, Name: "vmlinux:tick"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.LSMHook, Name: "m:file_open"}, check.Fails,
			"function bpf_lsm_file_open is in vmlinux, not in the module m"},
		{needs.Symbol{Kind: needs.Function, Name: "vmlinux:mod_kfunc"}, check.Fails,
			"function mod_kfunc is in the module m, not in vmlinux"},
		{needs.Symbol{Kind: needs.Function, Name: "other:mod_kfunc"}, check.Fails,
			"function mod_kfunc is in the module m, not in the module other"},
		{needs.Symbol{Kind: needs.Function, Name: "m:none"}, check.Fails,
			"the kernel has no function none, neither in the module m nor elsewhere"},

		// BTF doesn't have symbols of these kinds, so the verdict is Loads.
		{needs.Symbol{Kind: needs.Address, Name: "none"}, check.Loads, "BTF doesn't show all symbols; " +
			"without this one, libbpf loads no program of the object file"},
		{needs.Symbol{Kind: needs.Address, Name: "none", Weak: true}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Probe, Name: "none"}, check.Loads, ""},
		{needs.Symbol{Kind: needs.Tracepoint, Name: "a/b"}, check.Loads, ""},
	} {
		p := needs.Program{Name: "p", Symbols: []needs.Symbol{c.symbol}}
		if c.symbol.Weak { // never called, only tested
			p.Conditions = map[int]needs.Condition{0: {}}
		}
		n := &needs.Needs{Order: binary.LittleEndian, Local: local, Programs: []needs.Program{p}}
		results := must.Get(check.Kernel(kernel.Index(needs.Names(n)), n))(t)
		why := ""
		for _, r := range results[0].Reasons {
			why += r.Why
		}
		if results[0].Verdict != c.verdict || why != c.why {
			t.Errorf("%+v: %v, %s, want %v, %s", c.symbol, results[0].Verdict, why, c.verdict, c.why)
		}
	}
}

// TestArguments checks how many arguments programs of each hook can read. For some hooks, the
// function's result is one more argument.
func TestArguments(t *testing.T) {
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 32)
	pair := b.Composite(btf.KindStruct, "pair", 16, false)
	p := b.Ref(btf.KindPtr, "", pair)
	proto := b.FuncProto(i, btf.Param{Type: pair}, btf.Param{Type: p}, btf.Param{Type: i})
	b.Func("result", proto, btf.LinkageStatic)
	b.Func("bpf_lsm_result", proto, btf.LinkageStatic)
	b.Func("void", b.FuncProto(0, btf.Param{Type: i}), btf.LinkageStatic)
	b.Ref(btf.KindTypedef, "btf_trace_point", b.Ref(btf.KindPtr, "", b.FuncProto(0,
		btf.Param{Type: b.Ref(btf.KindPtr, "", 0)}, btf.Param{Type: i}, btf.Param{Type: p})))
	kernel := &core.Kernel{Vmlinux: checked(t, b, nil)}
	for _, c := range []struct {
		section, name string
		kind          needs.SymbolKind
		args          int // how many can be read
	}{
		{"fentry/result", "result", needs.Function, 4},
		{"?fentry.s/result", "result", needs.Function, 4},
		{"fexit/result", "result", needs.Function, 5},
		{"fmod_ret.s/result", "result", needs.Function, 5},
		{"fexit/void", "void", needs.Function, 1},
		{"lsm/result", "result", needs.LSMHook, 5},
		{"tp_btf/point", "point", needs.RawTP, 2},
	} {
		for args := range 8 {
			n := &needs.Needs{Order: binary.LittleEndian, Local: kernel.Vmlinux,
				Programs: []needs.Program{{Name: "p", Section: c.section, Symbols: []needs.Symbol{
					{Kind: c.kind, Name: c.name, Args: args}}}}}
			results := must.Get(check.Kernel(kernel.Index(needs.Names(n)), n))(t)
			if loads := results[0].Verdict == check.Loads; loads != (args <= c.args) {
				t.Errorf("%s with %d arguments: %v", c.section, args, results[0])
			}
		}
	}
}

// TestConditions checks that a missing field is fatal only if the program reaches the instruction
// that reads it.
func TestConditions(t *testing.T) {
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 32)
	b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("old"), Type: i})
	kernel := &core.Kernel{Vmlinux: checked(t, b, nil)}
	l := btf.NewBuilder(binary.LittleEndian, nil, nil)
	i = l.Int("int", 4, btf.IntSigned, 32)
	s := l.Composite(btf.KindStruct, "s", 16, false, btf.Member{NameOff: l.Name("new"), Type: i},
		btf.Member{NameOff: l.Name("old"), Type: i, Offset: 64})
	local := checked(t, l, nil)
	// Relocations 0 and 1 read the fields "new" and "old"; 2 and 3 test whether these fields exist.
	relocations := []core.Relocation{
		{Kind: core.FieldByteOffset, Type: s, Access: "0:0"},
		{Kind: core.FieldByteOffset, Type: s, Access: "0:1"},
		{Kind: core.FieldExists, Type: s, Access: "0:0"},
		{Kind: core.FieldExists, Type: s, Access: "0:1"},
	}
	lit := func(i int, found bool) needs.Literal {
		return needs.Literal{Test: reach.Fact(i), Found: found}
	}
	for _, c := range []struct {
		name string
		when needs.Condition // under which "new" is read; nil for always
		want check.Verdict
		// certain is the condition under which "new" is read for all settings; nil if this is the
		// same condition as in the field "when".
		certain needs.Condition
	}{
		{"for some settings", nil, check.Partly, needs.Condition{}},
		{"for all settings if old", nil, check.Fails, needs.Condition{{lit(3, true)}}},
		{"for all settings if new", nil, check.Partly, needs.Condition{{lit(2, true)}}},
		{"no guard", nil, check.Fails, nil},
		{"never", needs.Condition{}, check.Partly, nil},
		{"if new", needs.Condition{{lit(2, true)}}, check.Partly, nil},
		{"unless new", needs.Condition{{lit(2, false)}}, check.Fails, nil},
		{"if old", needs.Condition{{lit(3, true)}}, check.Fails, nil},
		{"unless old", needs.Condition{{lit(3, false)}}, check.Partly, nil},
		{"if both", needs.Condition{{lit(2, true), lit(3, true)}}, check.Partly, nil},
		{"if one of them", needs.Condition{{lit(2, true)}, {lit(3, true)}}, check.Fails, nil},
	} {
		p := needs.Program{Name: "p", Relocations: relocations}
		if c.when != nil {
			p.Conditions = map[int]needs.Condition{0: c.when}
		}
		if c.certain != nil {
			p.Certain = map[int]needs.Condition{0: c.certain}
		}
		n := &needs.Needs{Order: binary.LittleEndian, Local: local, Programs: []needs.Program{p}}
		results := must.Get(check.Kernel(kernel.Index(needs.Names(n)), n))(t)
		if got := results[0]; got.Verdict != c.want || len(got.Reasons) != 2 ||
			!strings.Contains(got.Reasons[0].Wants, "struct s.new") {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}
