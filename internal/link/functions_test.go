package link

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// builder makes units by hand, and links them.
type builder struct{ *linktest.Builder }

func newBuilder() *builder { return &builder{linktest.New()} }

// link links the units and lists the result. Each named type has one line: its kind, its name, and
// the types that it refers to, spelled out.
func (b *builder) link(t *testing.T, opt Options) (lines []string, res *Result) {
	t.Helper()
	res, err := Link([]*object.Object{b.Object}, opt)
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

// onBlob is a base that remembers the BTF that it was made from.
type onBlob struct {
	base.Base
	blob *btf.Blob
}

// on returns the base for split BTF that is based on b.
func on(t *testing.T, b *btf.Blob) base.Base {
	t.Helper()
	parsed, err := base.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return onBlob{parsed, b}
}

// blobOf returns the BTF from which on() made this base, or nil if there is no base.
func blobOf(b base.Base) *btf.Blob {
	if b == nil {
		return nil
	}
	return b.(onBlob).blob
}

// spell spells out a type and the types that it refers to, up to depth levels deep.
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
	if err := r.WriteSkipped(&b); err != nil {
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
	b.Unit("a.c", 1)
	i := b.Hold(b.Int("int"))
	p := b.Ptr(i)
	b.Fn("plain", 1, 0, b.Proto(i, i))
	b.Fn("nosymbol", 1, 0, b.Proto(i))
	b.Fn("clone", 0, 0, b.Proto(i))
	b.Fn("isra", 0, types.FuncOptimized, b.Proto(i, i))
	b.Fn("order", 0, types.FuncReordered|types.FuncUnexpectedReg, b.Proto(i, i))
	b.Fn("register", 0, types.FuncUnexpectedReg, b.Proto(i, i))
	b.Fn("uncertain", 0, types.FuncUncertain, b.Proto(i, i))
	b.Fn("twice", 0, types.FuncOptimized, b.Proto(i, i))
	b.Fn("constness", 0, 0, b.Proto(0, b.Ptr(b.Const(i))))
	b.Fn("different", 0, 0, b.Proto(0, p))
	b.Fn("declared", 0, 0, b.Proto(0, b.Ptr(b.Stub("s"))))
	b.Fn("cold", 0, 0, b.Proto(0))
	b.Unit("b.c", 2)
	b.Hold(i)
	b.Hold(b.Struct("s", p))
	b.Fn("constness", 0, 0, b.Proto(0, p))
	b.Fn("different", 0, 0, b.Proto(0, i))
	b.Fn("declared", 0, 0, b.Proto(0, b.Ptr(b.Stub("s"))))
	x := &facts.Facts{
		HasFiles:         true,
		Globals:          []string{"plain"},
		SeveralAddresses: []facts.RepeatedName{{Name: "twice", Addresses: 2}},
		Files: []facts.File{{Name: "a.c", Funcs: []string{"clone.constprop.0", "cold.cold", "constness",
			"declared", "different", "isra.isra.0",
			"order", "register", "twice", "twice.part.0", "uncertain"}},
			{Name: "b.c", Funcs: []string{"constness", "declared", "different"}}}, // folded
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

// With the feature true_signature, a clone has candidates under its symbol's name.
func TestTrueSignature(t *testing.T) {
	b := newBuilder()
	b.Unit("a.c", 1)
	i := b.Hold(b.Int("int"))
	one, two := b.Proto(i, i), b.Proto(i, i, i)
	b.Fn("beside", 0, 0, two) // a function and its clone
	b.Fn("beside.constprop.0", 0, 0, one)
	b.Fn("alone.isra.0", 0, 0, one)
	b.Fn("twice.isra.0", 0, 0, one)  // in two files
	b.Fn("folded.isra.0", 0, 0, one) // in two files, at one address
	b.Fn("register.isra.0", 0, types.FuncUnexpectedReg, one)
	b.Fn("order", 0, types.FuncReordered, two)
	b.Fn("without", 0, 0, two) // converted without its symbol's name
	b.Fn("gone.isra.0", 0, 0, one)
	b.Unit("b.c", 1)
	b.Hold(i)
	b.Fn("alone", 1, types.FuncNoCode, two) // inlined
	b.Fn("twice.isra.0", 0, 0, b.Proto(i))
	b.Fn("folded.isra.0", 0, 0, one)
	x := &facts.Facts{
		HasFiles: true,
		Files: []facts.File{
			{Name: "a.c", Funcs: []string{"alone.isra.0", "beside", "beside.constprop.0", "folded.isra.0",
				"order", "register.isra.0", "twice.isra.0", "without.isra.0"}},
			{Name: "b.c", Funcs: []string{"folded.isra.0", "twice.isra.0"}},
		},
		SeveralAddresses: []facts.RepeatedName{{Name: "beside", Addresses: 2},
			{Name: "twice", Addresses: 2}},
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
	b.Unit("weak.c", 5)
	i := b.Hold(b.Int("int"))
	named := func(param string) types.ID {
		return b.Add(types.Node{Kind: types.KindFuncProto, Ref: i},
			types.Elem{Name: b.Str(param), Ref: i})
	}
	b.Fn("hook", 1, types.FuncWeak, named("x"))
	b.Fn("alone", 1, types.FuncWeak, named("y"))
	b.Unit("strong.c", 1)
	b.Hold(i)
	b.Fn("hook", 1, 0, named("x__nullable"))
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
	b.Unit("a.c", 1)
	i := b.Hold(b.Int("int"))
	b.Fn("k1", 1, 0, b.Proto(b.Ptr(i), i))
	b.Fn("k2", 1, 0, b.Proto(i, b.Ptr(i), b.Ptr(i)))
	b.Fn("k3", 1, types.FuncReordered, b.Proto(i, i))
	tagged := b.Fn("plain", 1, 0, b.Proto(i, i))
	b.Hold(b.Add(types.Node{Kind: types.KindDeclTag, Name: b.Str("mine"), Ref: tagged, Aux: 1}))
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
	lines, res := b.link(t,
		Options{Facts: x, Features: features.Default().With(features.Attributes)})
	want := "func k2 linkage 0(func_proto(int int, ptr(type_tag address_space(1)), ptr(int int)))"
	if !slices.Contains(lines, want) {
		t.Errorf("no %s in %q", want, lines)
	}
	blob, err := btf.Parse(res.BTF, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range blob.Types {
		if x := &blob.Types[i]; x.Kind == btf.KindTypeTag && !x.KFlag {
			t.Error("the type tag of an arena pointer is not an attribute: its kind flag is not set")
		}
	}
	if again := linkOne(t, Options{}, fromBTF(t, blob)); !bytes.Equal(res.BTF, again) {
		t.Error("linking again changes the result")
	}
}
