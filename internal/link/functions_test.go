package link

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// builder makes units by hand.
type builder struct {
	o *object.Object
	u *object.Unit
}

func newBuilder() *builder {
	return &builder{o: object.New(object.Target{AddrSize: 8, Machine: uint16(elf.EM_X86_64)},
		features.Default())}
}

func (b *builder) str(s string) types.Str { return b.o.Graph.Strs.Intern([]byte(s)) }

// unit begins a unit.
func (b *builder) unit(file string, count uint32) {
	b.o.Units = append(b.o.Units, object.Unit{File: b.str(file), Count: count})
	b.u = &b.o.Units[len(b.o.Units)-1]
}

// hold adds an item to the last unit.
func (b *builder) hold(id types.ID) types.ID {
	if !slices.Contains(b.u.Items, id) {
		b.u.Items = append(b.u.Items, id)
	}
	return id
}

func (b *builder) add(n types.Node, elems ...types.Elem) types.ID { return b.o.Graph.Add(n, elems) }

func (b *builder) int(name string) types.ID {
	return b.add(types.Node{Kind: types.KindInt, Name: b.str(name), Size: 4, Aux: 1<<24 | 32})
}

func (b *builder) ptr(to types.ID) types.ID {
	return b.add(types.Node{Kind: types.KindPtr,
		Ref: to})
}
func (b *builder) constOf(to types.ID) types.ID {
	return b.add(types.Node{Kind: types.KindConst, Ref: to})
}

func (b *builder) structStub(name string) types.ID {
	return b.o.Graph.Stub(types.TagStruct, b.str(name))
}

func (b *builder) structOf(name string, members ...types.ID) types.ID {
	var elems []types.Elem
	for i, m := range members {
		elems = append(elems, types.Elem{Name: b.str(fmt.Sprintf("m%d", i)), Ref: m, Val: uint64(64 * i)})
	}
	return b.add(types.Node{Kind: types.KindStruct, Name: b.str(name), Size: uint32(8 * len(members))},
		elems...)
}

func (b *builder) proto(ret types.ID, params ...types.ID) types.ID {
	var elems []types.Elem
	for i, p := range params {
		elems = append(elems, types.Elem{Name: b.str(fmt.Sprintf("p%d", i)), Ref: p})
	}
	return b.add(types.Node{Kind: types.KindFuncProto, Ref: ret}, elems...)
}

func (b *builder) fn(name string, linkage uint32, flags types.FuncFlags, proto types.ID) types.ID {
	return b.hold(b.add(types.Node{Kind: types.KindFunc, Name: b.str(name), Size: uint32(flags),
		Ref: proto, Aux: linkage}))
}

func (b *builder) variable(name string, linkage, size uint32, typ types.ID) types.ID {
	return b.hold(b.add(types.Node{Kind: types.KindVar, Name: b.str(name), Size: size, Ref: typ,
		Aux: linkage}))
}

// link links and lists the result, one line a named type: kind, name, and what it refers to,
// spelled out.
func (b *builder) link(t *testing.T, opt Options) (lines []string, res *Result) {
	t.Helper()
	res, err := Link([]*object.Object{b.o}, opt)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := btf.Parse(res.BTF, blobOf(opt.Base))
	if err != nil {
		t.Fatal(err)
	}
	for id := blob.StartID; id < blob.EndID(); id++ {
		x, _ := blob.ByID(id)
		if blob.TypeName(x) != "" {
			lines = append(lines, spell(blob, id, 3))
		}
	}
	return lines, res
}

// onBlob is a base that remembers the BTF that it is made of.
type onBlob struct {
	base.Base
	blob *btf.Blob
}

// on is the base for split BTF that stands on b.
func on(t *testing.T, b *btf.Blob) base.Base {
	t.Helper()
	parsed, err := base.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return onBlob{parsed, b}
}

// blobOf is the BTF that a base from on is made of, nil for no base.
func blobOf(b base.Base) *btf.Blob {
	if b == nil {
		return nil
	}
	return b.(onBlob).blob
}

// spell writes a type with what it refers to, some levels deep.
func spell(b *btf.Blob, id uint32, depth int) string {
	if id == 0 {
		return "void"
	}
	t, own := b.ByID(id)
	s := strings.ToLower(t.Kind.String())
	if n := b.TypeName(t); n != "" {
		s += " " + n
	}
	switch t.Kind {
	case btf.KindFunc:
		s += fmt.Sprintf(" linkage %d", t.Vlen)
	case btf.KindVar:
		s += fmt.Sprintf(" linkage %d", t.Extra)
	case btf.KindDeclTag:
		s += fmt.Sprintf(" component %d", int32(t.Extra))
	case btf.KindDatasec:
		s += fmt.Sprintf(" size %d", t.SizeOrType)
		for _, e := range own.SecinfosOf(t) {
			v, _ := b.ByID(e.Type)
			s += fmt.Sprintf(" %s@%d+%d", b.TypeName(v), e.Offset, e.Size)
		}
		return s
	}
	_, refs := spelling(b, id)
	if depth == 0 || len(refs) == 0 {
		return s
	}
	var parts []string
	for _, r := range refs {
		parts = append(parts, spell(b, r, depth-1))
	}
	return s + "(" + strings.Join(parts, ", ") + ")"
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func wantSkipped(t *testing.T, r *Result, want string) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSkipped(&b, r.Skipped); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("skipped:\n%swant:\n%s", b.String(), want)
	}
}

func funcsOf(lines []string) (funcs []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, "func ") || strings.HasPrefix(l, "decl_tag ") ||
			strings.HasPrefix(l, "var ") || strings.HasPrefix(l, "datasec ") {
			funcs = append(funcs, l)
		}
	}
	return funcs
}

func TestFunctions(t *testing.T) {
	b := newBuilder()
	b.unit("a.c", 1)
	i := b.hold(b.int("int"))
	p := b.ptr(i)
	b.fn("plain", 1, 0, b.proto(i, i))
	b.fn("nosymbol", 1, 0, b.proto(i))
	b.fn("clone", 0, 0, b.proto(i))
	b.fn("isra", 0, types.FuncOptimized, b.proto(i, i))
	b.fn("order", 0, types.FuncReordered|types.FuncUnexpectedReg, b.proto(i, i))
	b.fn("register", 0, types.FuncUnexpectedReg, b.proto(i, i))
	b.fn("uncertain", 0, types.FuncUncertain, b.proto(i, i))
	b.fn("twice", 0, types.FuncOptimized, b.proto(i, i))
	b.fn("constness", 0, 0, b.proto(0, b.ptr(b.constOf(i))))
	b.fn("different", 0, 0, b.proto(0, p))
	b.fn("declared", 0, 0, b.proto(0, b.ptr(b.structStub("s"))))
	b.fn("cold", 0, 0, b.proto(0))
	b.unit("b.c", 2)
	b.hold(i)
	b.hold(b.structOf("s", p))
	b.fn("constness", 0, 0, b.proto(0, p))
	b.fn("different", 0, 0, b.proto(0, i))
	b.fn("declared", 0, 0, b.proto(0, b.ptr(b.structStub("s"))))
	x := &facts.Facts{
		HasFiles: true,
		Globals:  []string{"plain"},
		Repeated: []facts.Base{{Name: "twice", Addresses: 2}},
		Files: []facts.File{{Name: "a.c", Funcs: []string{"clone.constprop.0", "cold.cold", "constness",
			"declared", "different", "isra.isra.0",
			"order", "register", "twice", "twice.part.0", "uncertain"}}},
	}
	lines, res := b.link(t, Options{Facts: x, Features: features.Default()})
	wantLines(t, funcsOf(lines),
		"func clone linkage 0(func_proto(int int))",
		"func constness linkage 0(func_proto(void, ptr(int int)))",
		"func declared linkage 0(func_proto(void, ptr(struct s)))",
		"func plain linkage 0(func_proto(int int, int int))",
	)
	wantSkipped(t, res, "different\tinconsistent prototype\nisra\toptimized "+
		"parameters\norder\treordered parameters\n"+
		"register\tunexpected register\ntwice\tambiguous address\nuncertain\tuncertain parameter "+
		"location\n")

	lines, _ = b.link(t, Options{Facts: x,
		Features: features.Default().Without(features.OptimizedFunc).Without(features.ConsistentFunc)})
	wantLines(t, funcsOf(lines),
		"func constness linkage 0(func_proto(void, ptr(int int)))",
		"func declared linkage 0(func_proto(void, ptr(struct s)))",
		"func different linkage 0(func_proto(void, int int))",
		"func plain linkage 0(func_proto(int int, int int))",
	)

	lines, res = b.link(t, Options{Features: features.Default()})
	if got := len(funcsOf(lines)); got != 6 {
		t.Errorf("%d functions without facts, want 6: %q", got, funcsOf(lines))
	}
	wantSkipped(t, res, "different\tinconsistent prototype\nisra\toptimized "+
		"parameters\norder\treordered parameters\n"+
		"register\tunexpected register\ntwice\toptimized parameters\nuncertain\tuncertain parameter "+
		"location\n")
}

// With true_signature clones have candidates under their symbols' names.
func TestTrueSignature(t *testing.T) {
	b := newBuilder()
	b.unit("a.c", 1)
	i := b.hold(b.int("int"))
	one, two := b.proto(i, i), b.proto(i, i, i)
	b.fn("beside", 0, 0, two) // a function and its clone
	b.fn("beside.constprop.0", 0, 0, one)
	b.fn("alone.isra.0", 0, 0, one)
	b.fn("twice.isra.0", 0, 0, one)  // in two files
	b.fn("folded.isra.0", 0, 0, one) // in two files, at one address
	b.fn("register.isra.0", 0, types.FuncUnexpectedReg, one)
	b.fn("order", 0, types.FuncReordered, two)
	b.fn("without", 0, 0, two) // its entry had no symbol
	b.fn("gone.isra.0", 0, 0, one)
	b.unit("b.c", 1)
	b.hold(i)
	b.fn("alone", 1, types.FuncNoCode, two) // inlined
	b.fn("twice.isra.0", 0, 0, b.proto(i))
	b.fn("folded.isra.0", 0, 0, one)
	x := &facts.Facts{
		HasFiles: true,
		Globals:  []string{"order"},
		Files: []facts.File{
			{Name: "a.c", Funcs: []string{"alone.isra.0", "beside", "beside.constprop.0", "folded.isra.0",
				"register.isra.0", "twice.isra.0", "without.isra.0"}},
			{Name: "b.c", Funcs: []string{"folded.isra.0", "twice.isra.0"}},
		},
		Repeated: []facts.Base{{Name: "beside", Addresses: 2}, {Name: "twice", Addresses: 2}},
	}
	lines, res := b.link(t,
		Options{Facts: x, Features: features.Default().With(features.TrueSignature)})
	wantLines(t, funcsOf(lines),
		"func alone.isra.0 linkage 0(func_proto(int int, int int))",
		"func beside linkage 0(func_proto(int int, int int, int int))",
		"func beside.constprop.0 linkage 0(func_proto(int int, int int))",
		"func folded.isra.0 linkage 0(func_proto(int int, int int))",
		"func without linkage 0(func_proto(int int, int int, int int))",
	)
	wantSkipped(t, res, "order\treordered parameters\nregister.isra.0\tunexpected "+
		"register\ntwice.isra.0\tambiguous address\n")
}

func TestStrongDefinitionWins(t *testing.T) {
	b := newBuilder()
	b.unit("weak.c", 5)
	i := b.hold(b.int("int"))
	named := func(param string) types.ID {
		return b.add(types.Node{Kind: types.KindFuncProto, Ref: i},
			types.Elem{Name: b.str(param), Ref: i})
	}
	b.fn("hook", 1, types.FuncWeak, named("x"))
	b.fn("alone", 1, types.FuncWeak, named("y"))
	b.unit("strong.c", 1)
	b.hold(i)
	b.fn("hook", 1, 0, named("x__nullable"))
	_, res := b.link(t, Options{Features: features.Default()})
	blob, err := btf.Parse(res.BTF, nil)
	if err != nil {
		t.Fatal(err)
	}
	var params []string
	for _, p := range blob.Params {
		name, _ := blob.Name(p.NameOff)
		params = append(params, name)
	}
	slices.Sort(params)
	if want := []string{"x__nullable", "y"}; !slices.Equal(params, want) {
		t.Errorf("parameters %q, want %q", params, want)
	}
}

func TestKfuncs(t *testing.T) {
	b := newBuilder()
	b.unit("a.c", 1)
	i := b.hold(b.int("int"))
	b.fn("k1", 1, 0, b.proto(b.ptr(i), i))
	b.fn("k2", 1, 0, b.proto(i, b.ptr(i), b.ptr(i)))
	b.fn("k3", 1, types.FuncReordered, b.proto(i, i))
	tagged := b.fn("plain", 1, 0, b.proto(i, i))
	b.hold(b.add(types.Node{Kind: types.KindDeclTag, Name: b.str("mine"), Ref: tagged, Aux: 1}))
	x := &facts.Facts{
		Globals: []string{"k1", "k2", "k3", "plain"},
		Kfuncs: []facts.Kfunc{{Name: "gone"}, {Name: "k1", Flags: 1 << 12},
			{Name: "k2", Flags: 1 << 14},
			{Name: "k3"}},
	}
	lines, _ := b.link(t, Options{Facts: x, Features: features.Default()})
	wantLines(t, funcsOf(lines),
		"decl_tag bpf_fastcall component -1(func k1 linkage 0(func_proto(ptr, int int)))",
		"decl_tag bpf_kfunc component -1(func k1 linkage 0(func_proto(ptr, int int)))",
		"decl_tag bpf_kfunc component -1(func k2 linkage 0(func_proto(int int, ptr, ptr)))",
		"func k1 linkage 0(func_proto(ptr(int int), int int))",
		"func k2 linkage 0(func_proto(int int, ptr(int int), ptr(int int)))",
		"decl_tag mine component 0(func plain linkage 0(func_proto(int int, int int)))",
		"func plain linkage 0(func_proto(int int, int int))",
	)
	lines, res := b.link(t, Options{Facts: x, Features: features.Default().With(features.Attributes)})
	if want := "func k2 linkage 0(func_proto(int int, ptr(type_tag address_space(1)), ptr(int int)))"; !slices.Contains(lines, want) {
		t.Errorf("no %s in %q", want, lines)
	}
	blob, err := btf.Parse(res.BTF, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range blob.Types {
		if x := &blob.Types[i]; x.Kind == btf.KindTypeTag && !x.KFlag {
			t.Error("the tag of an arena pointer is no attribute: its kind flag is not set")
		}
	}
	if again := linkOne(t, Options{}, fromBTF(t, blob)); !bytes.Equal(res.BTF, again) {
		t.Error("linking again changes the result")
	}
}
