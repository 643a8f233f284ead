package distill

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// lines describes each of a blob's own types: kind, name, size, number of elements, references.
func lines(b *btf.Blob) (list []string) {
	for i := range b.Types {
		t := &b.Types[i]
		s := fmt.Sprintf("%v %s", t.Kind, b.TypeName(t))
		if t.Kind.HasSize() {
			s += fmt.Sprintf(" size %d", t.SizeOrType)
		}
		if t.Vlen > 0 && t.Kind != btf.KindFunc {
			s += fmt.Sprintf(" of %d", t.Vlen)
		}
		var refs []string
		for ref := range b.Refs(t) {
			if r, _ := b.ByID(*ref); r != nil {
				refs = append(refs, fmt.Sprintf("%v %s", r.Kind, b.TypeName(r)))
			} else {
				refs = append(refs, "void")
			}
		}
		list = append(list, strings.Join(append([]string{s}, refs...), "; "))
	}
	return list
}

func want(t *testing.T, what string, b *btf.Blob, want ...string) {
	t.Helper()
	if got := lines(b); !slices.Equal(got, want) {
		t.Errorf("%s is\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
		t.Errorf("%s: %v", what, v)
	}
}

// member is a member at an offset in bytes.
func member(b *btf.Builder, name string, typ, bytes uint32) btf.Member {
	return btf.Member{NameOff: b.Name(name), Type: typ, Offset: 8 * bytes}
}

func TestDistill(t *testing.T) {
	k := btf.NewBuilder(binary.LittleEndian, nil, nil)
	k.Name("a_string_that_only_the_kernel_has")
	integer := k.Int("int", 4, btf.IntSigned, 0)
	long := k.Int("long", 8, btf.IntSigned, 0)
	k.Int("unused", 2, 0, 0)
	double := k.Float("double", 8)
	fwd := k.Fwd("only_declared", false)
	deep := k.Composite(btf.KindStruct, "deep", 8, false, member(k, "x", long, 0))
	dev := k.Composite(btf.KindStruct, "device", 16, false, member(k, "d", deep, 0),
		member(k, "n", integer, 8))
	pdev := k.Ref(btf.KindPtr, "", dev)
	mode := k.Enum(btf.KindEnum, "mode", 4, false, btf.Enumerator{NameOff: k.Name("ON"), Value: 1})
	wide := k.Enum(btf.KindEnum64, "wide", 8, true,
		btf.Enumerator{NameOff: k.Name("HUGE"), Value: 1 << 40})
	anon := k.Composite(btf.KindUnion, "", 8, false, member(k, "f", double, 0),
		member(k, "m", mode, 0))
	typedef := k.Ref(btf.KindTypedef, "handle_t", anon)
	array := k.Array(typedef, integer, 3)
	proto := k.FuncProto(integer, btf.Param{NameOff: k.Name("dev"), Type: pdev})
	base := k.Finish()

	m := btf.NewBuilder(binary.LittleEndian, base, nil)
	m.Func("probe", proto, btf.LinkageStatic)
	own := m.Composite(btf.KindStruct, "mine", 48, false,
		member(m, "device", m.Ref(btf.KindPtr, "", fwd), 0), member(m, "list", array, 8),
		member(m, "w", wide, 32))
	m.Ref(btf.KindTypedef, "mine_t", own)
	split := m.Finish()

	newBase, newSplit := must.Get2(Distill(split))(t)
	want(t, "the distilled base", newBase,
		"STRUCT device size 16", "FLOAT double size 8", "INT int size 4", "ENUM mode size 4",
		"FWD only_declared", "ENUM wide size 8")
	got := lines(newSplit)
	// The order of types without a name (by kind, then by content) doesn't matter here.
	slices.Sort(got[:slices.IndexFunc(got, func(s string) bool {
		return strings.HasPrefix(s, "TYPEDEF")
	})])
	if wanted := []string{
		"ARRAY ; TYPEDEF handle_t; INT int", "FUNC_PROTO  of 1; INT int; PTR ",
		"PTR ; FWD only_declared", "PTR ; STRUCT device",
		"UNION  size 8 of 2; FLOAT double; ENUM mode", "TYPEDEF handle_t; UNION ",
		"STRUCT mine size 48 of 3; PTR ; ARRAY ; ENUM wide", "TYPEDEF mine_t; STRUCT mine",
		"FUNC probe; FUNC_PROTO ",
	}; !slices.Equal(got, wanted) {
		t.Errorf("the split BTF is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
	for _, v := range verify.Check(newSplit, verify.Options{Sorted: true}) {
		t.Error(v)
	}
	if strings.Contains(newBase.Strings+newSplit.Strings, "only_the_kernel") ||
		strings.Contains(newBase.Strings, "ON") {
		t.Errorf("strings that only the kernel needs are left: %q, %q", newBase.Strings, newSplit.Strings)
	}
}

// TestTwins distills a base that has several types with the same name. Types that the kernel
// couldn't distinguish are copied into the split BTF.
func TestTwins(t *testing.T) {
	k := btf.NewBuilder(binary.LittleEndian, nil, nil)
	integer := k.Int("int", 4, btf.IntSigned, 0)
	inner := k.Composite(btf.KindStruct, "inner", 4, false, member(k, "i", integer, 0))
	twin := k.Composite(btf.KindStruct, "twin", 4, false, member(k, "a", inner, 0))
	k.Composite(btf.KindStruct, "twin", 4, false, member(k, "b", integer, 0))
	sized := k.Composite(btf.KindStruct, "sized", 4, false, member(k, "a", integer, 0))
	k.Composite(btf.KindStruct, "sized", 8, false, member(k, "a", integer, 0),
		member(k, "b", integer, 4))
	tag := k.Enum(btf.KindEnum, "tag", 4, false, btf.Enumerator{NameOff: k.Name("A")})
	k.Composite(btf.KindUnion, "tag", 8, false, member(k, "a", integer, 0))
	union := k.Composite(btf.KindUnion, "u", 4, false, member(k, "a", integer, 0))
	k.Fwd("u", false)
	base := k.Finish()
	for _, c := range []struct {
		id    uint32
		base  []string
		split []string
	}{
		{twin, []string{"STRUCT inner size 4"}, []string{"PTR ; STRUCT twin",
			"STRUCT twin size 4 of 1; STRUCT inner"}},
		{sized, []string{"STRUCT sized size 4"}, []string{"PTR ; STRUCT sized"}},
		{tag, []string{"ENUM tag size 4"}, []string{"PTR ; ENUM tag"}},
		{union, []string{"INT int size 4"}, []string{"PTR ; UNION u", "UNION u size 4 of 1; INT int"}},
	} {
		m := btf.NewBuilder(binary.LittleEndian, base, nil)
		m.Ref(btf.KindPtr, "", c.id)
		newBase, newSplit := must.Get2(Distill(m.Finish()))(t)
		want(t, "the distilled base", newBase, c.base...)
		want(t, "the split BTF", newSplit, c.split...)
	}
}

func TestNothingOfTheBase(t *testing.T) {
	k := btf.NewBuilder(binary.LittleEndian, nil, nil)
	k.Int("char", 1, 0, 0)
	k.Int("int", 4, btf.IntSigned, 0)
	m := btf.NewBuilder(binary.LittleEndian, k.Finish(), nil)
	m.Int("own", 8, 0, 0)
	base, split := must.Get2(Distill(m.Finish()))(t)
	want(t, "the distilled base", base, "INT int size 4") // the kernel rejects BTF without types
	want(t, "the split BTF", split, "INT own size 8")
}

func TestRefuses(t *testing.T) {
	k := btf.NewBuilder(binary.LittleEndian, nil, nil)
	f := k.Func("f", k.FuncProto(0), btf.LinkageGlobal)
	base := k.Finish()
	for _, c := range []struct {
		blob func() *btf.Blob
		want string
	}{
		{func() *btf.Blob { return base }, "has no base"},
		{func() *btf.Blob {
			m := btf.NewBuilder(binary.LittleEndian, base, nil)
			m.DeclTag("t", f, btf.DeclTagWhole)
			return m.Finish()
		}, "FUNC f in the base"},
		{func() *btf.Blob {
			m := btf.NewBuilder(binary.LittleEndian, base, nil)
			m.Ref(btf.KindPtr, "", 99)
			return m.Finish()
		}, "refers to [99]"},
	} {
		if _, _, err := Distill(c.blob()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// TestSites distills the base of BTF with sites. One of the inlined functions and a location are in
// the base; they are copied. Then the result is relocated to another kernel.
func TestSites(t *testing.T) {
	kernel := func(more ...string) *btf.Builder {
		k := btf.NewBuilder(binary.LittleEndian, nil, nil)
		for _, name := range more {
			k.Int(name, 8, 0, 0)
		}
		k.Int("int", 4, btf.IntSigned, 0)
		return k
	}
	k := kernel()
	zero := k.Func("zero", k.FuncProto(1, btf.Param{NameOff: k.Name("a"), Type: 1}),
		btf.LinkageStatic)
	reg := k.LocParam(4, btf.LocReg, 5)
	m := btf.NewBuilder(binary.LittleEndian, k.Finish(), nil)
	own := m.Func("own", m.FuncProto(0, btf.Param{NameOff: m.Name("b"), Type: 1},
		btf.Param{NameOff: m.Name("c"), Type: 1}), btf.LinkageStatic)
	one, two := m.LocProto(reg), m.LocProto(m.LocParam(8, btf.LocConst, 7, 0), 0)
	m.Locsec("inline.text", btf.Site{Func: zero, LocProto: one, Offset: 32},
		btf.Site{Func: zero, LocProto: one, Offset: 48}, btf.Site{Func: own, LocProto: two, Offset: 16})
	base, split := must.Get2(Distill(m.Finish()))(t)
	want(t, "the distilled base", base, "INT int size 4")
	types := []string{
		"FUNC_PROTO  of 1; INT int; INT int",
		"FUNC_PROTO  of 2; void; INT int; INT int",
		"LOC_PARAM  size 4 of 1",
		"LOC_PARAM  size 8 of 2",
		"LOC_PROTO  of 1; LOC_PARAM ",
		"LOC_PROTO  of 2; LOC_PARAM ; void",
		"LOCSEC inline.text of 3; FUNC own; LOC_PROTO ; FUNC zero; LOC_PROTO ; FUNC zero; LOC_PROTO ",
		"FUNC own; FUNC_PROTO ",
		"FUNC zero; FUNC_PROTO ",
	}
	sites := []uint32{16, 32, 48}
	check := func(what string, b *btf.Blob) {
		got := lines(b)
		slices.Sort(got[:2]) // prototypes are sorted by hash
		if !slices.Equal(got, types) {
			t.Errorf("%s is\n%s", what, strings.Join(got, "\n"))
		}
		for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
			t.Errorf("%s: %v", what, v)
		}
		for i, s := range b.Sites {
			if s.Offset != sites[i] {
				t.Errorf("%s: site %d is at %d", what, i, s.Offset)
			}
		}
	}
	check("the split BTF", split)
	before := slices.Clone(split.Sites)
	moved := must.Get(relocate.Relocate(split, kernel("a", "b", "c").Finish()))(t)
	check("the relocated BTF", moved)
	if !slices.Equal(split.Sites, before) {
		t.Error("relocation has changed its input")
	}
	m.DeclTag("tag", reg, btf.DeclTagWhole)
	if _, _, err := Distill(m.Finish()); err == nil {
		t.Error("a tag on a location is accepted")
	}
}

// FuzzDistill distills any blob on any base, and parses the result.
func FuzzDistill(f *testing.F) {
	k := btf.NewBuilder(binary.LittleEndian, nil, nil)
	i := k.Int("int", 4, btf.IntSigned, 0)
	s := k.Composite(btf.KindStruct, "s", 4, false, member(k, "i", i, 0))
	k.Fwd("s", false)
	a := k.Array(k.Ref(btf.KindTypedef, "t", s), i, 2)
	g := k.Func("g", k.FuncProto(0), btf.LinkageStatic)
	at := k.LocProto()
	base := k.Finish()
	m := btf.NewBuilder(binary.LittleEndian, base, nil)
	m.Func("f", m.FuncProto(i, btf.Param{NameOff: m.Name("p"), Type: a}), btf.LinkageStatic)
	m.Locsec("inline.text", btf.Site{Func: g, LocProto: at})
	under := must.Get(btf.Encode(base, btf.EncodeOptions{}))(f)
	over := must.Get(btf.Encode(m.Finish(), btf.EncodeOptions{}))(f)
	f.Add(under, over)
	f.Fuzz(func(t *testing.T, under, over []byte) {
		base, err := btf.Parse(under, nil)
		if err != nil {
			return
		}
		distilled, split, err := Encode(over, base)
		if err != nil {
			return
		}
		b, err := btf.Parse(distilled, nil)
		must.OK(t, err)
		must.Get(btf.Parse(split, b))(t)
	})
}
