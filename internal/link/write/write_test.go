package write_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/link/write"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// result is what is written for some units.
type result struct {
	*write.Written
	units *resolve.Units
	blob  *btf.Blob
}

func writeUnits(b *linktest.Builder, below *btf.Blob, x *facts.Facts,
	opt write.Options) (*result, error) {
	var on base.Base
	if below != nil {
		var err error
		if on, err = base.Parse(below); err != nil {
			return nil, err
		}
	}
	if opt.Order == nil {
		opt.Order = binary.LittleEndian
	}
	t, units := resolve.Resolve(b.Survey(), on, nil, 1)
	set := features.Default().With(features.GlobalVar)
	d, err := decide.Decide(t, symbols.New(&b.Graph.Strs, x), x, set, false, 2)
	if err != nil {
		return nil, err
	}
	w, err := write.BTF(t.Types, d, opt)
	if err != nil {
		return nil, err
	}
	blob, err := btf.Parse(w.BTF, below)
	return &result{w, units, blob}, err
}

func mustWrite(t *testing.T, b *linktest.Builder, below *btf.Blob, opt write.Options) *result {
	t.Helper()
	r := must.Get(writeUnits(b, below, nil, opt))(t)
	for _, v := range verify.Check(r.blob, verify.Options{Sorted: true}) {
		t.Errorf("the kernel would refuse it: %v", v)
	}
	return r
}

// lines spells out the types in order: kind, name, size or what they refer to.
func (r *result) lines() []string {
	var lines []string
	for i := range r.blob.Types {
		x := &r.blob.Types[i]
		line := strings.TrimSpace(fmt.Sprint(x.Kind, " ", r.blob.TypeName(x)))
		switch x.Kind {
		case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindInt:
			line += fmt.Sprintf(" of %d", x.SizeOrType)
		case btf.KindFwd:
			line += fmt.Sprintf(" union %v", x.KFlag)
		}
		for ref := range r.blob.Refs(x) {
			line += fmt.Sprintf(" %d", *ref)
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *result) want(t *testing.T, want ...string) {
	t.Helper()
	if got := r.lines(); !slices.Equal(got, want) {
		t.Errorf("types:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOrder: anonymous types come first, by kind; then named types, by name. Types with the same
// name are sorted by kind, then by content. The members' names, m0 and m1, take part in the order
// only as content.
func TestOrder(t *testing.T) {
	b := linktest.New()
	integer := b.Int("int")
	b.Unit("a.c", 1, integer,
		b.Struct("z", integer),
		b.Ref(types.KindTypedef, "a", b.Add(types.Node{Kind: types.KindUnion, Size: 4})),
		b.Ref(types.KindTypedef, "z", b.Ptr(b.Const(integer))),
		b.Add(types.Node{Kind: types.KindEnum, Name: b.Str("z"), Size: 4},
			types.Elem{Name: b.Str("E"), Val: 1}))
	mustWrite(t, b, nil, write.Options{}).want(t,
		"PTR 3", "UNION of 4", "CONST 5",
		"TYPEDEF a 2",
		"INT int of 4",
		"STRUCT z of 8 5", "ENUM z of 4", "TYPEDEF z 1")
}

// TestReachable: the named types that units hold are written, whatever was decided about them, and
// so are all types to which they lead.
func TestReachable(t *testing.T) {
	b := linktest.New()
	integer := b.Int("int")
	b.Ptr(b.Int("unused"))             // nobody holds it
	b.Struct("unheld", b.Int("other")) // nobody holds it either
	b.Stub("undeclared")               // nothing refers to it
	toStub := b.Ptr(b.Stub("declared"))
	b.Unit("a.c", 1, b.Struct("held", toStub), b.Ptr(b.Ptr(integer)))
	b.Fn("f", types.LinkageGlobal, 0, b.Proto(0, b.Ptr(b.Stub("held"))))
	var got []string
	r := mustWrite(t, b, nil, write.Options{})
	for i := range r.blob.Types {
		got = append(got, fmt.Sprint(r.blob.Types[i].Kind, " ", r.blob.TypeName(&r.blob.Types[i])))
	}
	want := []string{
		"PTR ", "PTR ", "PTR ", "PTR ", // to the stub and to held; what the unit holds, and to int
		"FUNC_PROTO ", "FWD declared", "FUNC f", "STRUCT held", "INT int"}
	if !slices.Equal(got, want) {
		t.Errorf("written are %q, want %q", got, want)
	}
}

// TestForms writes types of those kinds whose records differ in form from their nodes.
func TestForms(t *testing.T) {
	b := linktest.New()
	integer := b.Int("int")
	array := b.Add(types.Node{Kind: types.KindArray, Ref: integer, Size: 7}, types.Elem{Ref: integer})
	b.Unit("a.c", 1, b.Ref(types.KindTypedef, "array", array),
		b.Ref(types.KindTypedef, "enum", b.Graph.Stub(types.TagEnum, b.Str("e"))),
		b.Ref(types.KindTypedef, "struct", b.Stub("s")),
		b.Ref(types.KindTypedef, "union", b.Graph.Stub(types.TagUnion, b.Str("u"))))
	b.DeclTag("whole", b.Hold(b.Struct("tagged", integer)), 0)
	b.DeclTag("member", b.Hold(b.Struct("tagged", integer)), 1)
	r := mustWrite(t, b, nil, write.Options{})
	r.want(t, "ARRAY 5 5",
		"TYPEDEF array 1",
		"ENUM e of 4", "TYPEDEF enum 3",
		"INT int of 4",
		"DECL_TAG member 9",
		"FWD s union false", "TYPEDEF struct 7",
		"STRUCT tagged of 8 5",
		"FWD u union true", "TYPEDEF union 10",
		"DECL_TAG whole 9")
	if len(r.blob.Arrays) != 1 || r.blob.Arrays[0].Nelems != 7 {
		t.Errorf("arrays %+v", r.blob.Arrays)
	}
	components := map[string]uint32{}
	for i := range r.blob.Types {
		if x := &r.blob.Types[i]; x.Kind == btf.KindDeclTag {
			components[r.blob.TypeName(x)] = x.Extra
		}
	}
	if components["whole"] != ^uint32(0) || components["member"] != 0 {
		t.Errorf("components %v, want -1 for the type itself, 0 for the first member", components)
	}
}

// TestStrings: the strings are an empty name, and then each needed name once, sorted. Names that
// only unwritten types have are left out.
func TestStrings(t *testing.T) {
	b := linktest.New()
	b.Struct("unheld", b.Int("other"))
	b.Unit("a.c", 1, b.Struct("s", b.Int("int"), b.Int("int")), b.Struct("m1"))
	b.Fn("f", types.LinkageGlobal, 0, b.Proto(0, b.Int("int")))
	r := mustWrite(t, b, nil, write.Options{})
	if want := "\x00f\x00int\x00m0\x00m1\x00p0\x00s\x00"; r.blob.Strings != want {
		t.Errorf("strings %q, want %q", r.blob.Strings, want)
	}
}

// TestSplit: types and strings of the base are not written again. Ids and offsets continue where
// the base ends.
func TestSplit(t *testing.T) {
	below := btf.NewBuilder(nil, nil, nil)
	integer := below.Int("int", 4, 1, 32)
	theirs := below.Composite(btf.KindStruct, "theirs", 8, false,
		btf.Member{NameOff: below.Name("m0"), Type: integer})
	vmlinux := below.Finish()

	b := linktest.New()
	shared := b.Struct("theirs", b.Int("int"))
	own := b.Struct("own", b.Ptr(b.Stub("theirs")))
	u := b.Unit("a.c", 1, b.Int("int"), shared, own)
	r := mustWrite(t, b, vmlinux, write.Options{Layout: true})
	r.want(t, "PTR 2", "STRUCT own of 8 3")
	if want := "own\x00"; r.blob.Strings != want {
		t.Errorf("own strings %q, want %q", r.blob.Strings, want)
	}
	if r.blob.StartID != vmlinux.EndID() || r.blob.BaseStrLen != vmlinux.EndStr() {
		t.Errorf("begins with id %d, offset %d; the base ends before %d, %d", r.blob.StartID,
			r.blob.BaseStrLen, vmlinux.EndID(), vmlinux.EndStr())
	}
	if id := r.ID(r.units.In(u, shared)); id != theirs {
		t.Errorf("the struct of the base has id %d, want %d", id, theirs)
	}
	if id := r.ID(r.units.In(u, own)); id != 4 {
		t.Errorf("the struct that is new has id %d, want 4", id)
	}
	if r.blob.Header.LayoutLen != 0 {
		t.Error("split BTF has a layout section")
	}
}

// TestID: a type of the base keeps its id in the base, even if its tag is conflicted.
func TestID(t *testing.T) {
	below := btf.NewBuilder(nil, nil, nil)
	theirs := below.Composite(btf.KindStruct, "s", 8, false,
		btf.Member{NameOff: below.Name("m0"), Type: below.Int("int", 4, 1, 32)})
	b := linktest.New()
	shared, other := b.Struct("s", b.Int("int")), b.Struct("s")
	first, second := b.Unit("a.c", 1, shared), b.Unit("b.c", 1, other)
	r := mustWrite(t, b, below.Finish(), write.Options{})
	r.want(t, "STRUCT s of 0")
	if id := r.ID(r.units.In(first, shared)); id != theirs {
		t.Errorf("the struct of the base has id %d, want %d", id, theirs)
	}
	if id := r.ID(r.units.In(second, other)); id != 3 {
		t.Errorf("the other struct has id %d, want 3", id)
	}
}

func TestLayout(t *testing.T) {
	for _, layout := range []bool{false, true} {
		b := linktest.New()
		b.Unit("a.c", 1, b.Int("int"))
		r := mustWrite(t, b, nil, write.Options{Layout: layout})
		if got := r.blob.Header.LayoutLen != 0; got != layout {
			t.Errorf("has a layout section: %v, want %v", got, layout)
		}
	}
}

// TestByteOrder: the BTF has the same content in both byte orders.
func TestByteOrder(t *testing.T) {
	var lines [][]string
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := linktest.New()
		b.Unit("a.c", 1, b.Struct("s", b.Int("int")))
		r := mustWrite(t, b, nil, write.Options{Order: order})
		if got := order.Uint16(r.BTF); got != 0xeb9f {
			t.Errorf("%v: magic number %#x", order, got)
		}
		lines = append(lines, r.lines())
	}
	if !slices.Equal(lines[0], lines[1]) {
		t.Errorf("big endian holds %q, little endian %q", lines[1], lines[0])
	}
}

// TestOrderOfInput: the result doesn't depend on the order of units, the order of the graph's nodes
// or the number of threads, even for types of the same name and kind that differ only in conflicted
// tags.
func TestOrderOfInput(t *testing.T) {
	var first []byte
	for i := range 8 {
		b := linktest.New()
		parts := []func(){
			func() { b.Unit("a.c", 1, b.Struct("in"), b.Struct("out", b.Ptr(b.Stub("in")))) },
			func() {
				b.Unit("b.c", 1, b.Struct("in", b.Int("int")), b.Struct("out", b.Ptr(b.Stub("in"))))
			},
			func() {
				b.Unit("c.c", 1, b.Struct("in", b.Int("a"), b.Int("b")),
					b.Struct("out", b.Ptr(b.Stub("in"))))
			},
			func() {
				b.Unit("d.c", 1)
				for n := range 40 {
					b.Hold(b.Ref(types.KindTypedef, fmt.Sprint("t", n), b.Ptr(b.Int(fmt.Sprint("i", n)))))
				}
			},
		}
		if i%2 == 1 {
			slices.Reverse(parts)
		}
		for n := range parts {
			parts[(n+i/2)%len(parts)]()
		}
		r := mustWrite(t, b, nil, write.Options{Jobs: 1 + i%3})
		if i == 0 {
			first = r.BTF
		} else if !bytes.Equal(r.BTF, first) {
			t.Errorf("order %d gives different bytes:\n%s", i, strings.Join(r.lines(), "\n"))
		}
	}
}

// TestErrors tests input that the format or the kernel does not accept.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		what  string
		build func(b *linktest.Builder)
		err   string
	}{
		{"a struct", func(b *linktest.Builder) { b.Hold(b.Struct("a<b>")) }, "a type is named"},
		{"a declared struct",
			func(b *linktest.Builder) { b.Hold(b.Struct("s", b.Ptr(b.Stub("a<b>")))) },
			"a type is named"},
		{"a typedef", func(b *linktest.Builder) { b.Hold(b.Ref(types.KindTypedef, "a b", 0)) },
			"a type is named"},
		{"an enumerator", func(b *linktest.Builder) {
			b.Hold(b.Add(types.Node{Kind: types.KindEnum, Name: b.Str("e"), Size: 4},
				types.Elem{Name: b.Str("1")}))
		}, `of "e" is named "1"`},
		{"a function, which is left out",
			func(b *linktest.Builder) { b.Fn("operator()", 1, 0, b.Proto(0)) }, ""},
		{"a base type, which may have any name", func(b *linktest.Builder) { b.Hold(b.Int("a b")) }, ""},
		{"the value of a declaration tag",
			func(b *linktest.Builder) { b.DeclTag("a b", b.Hold(b.Struct("s")), 0) }, ""},
		{"a section", func(b *linktest.Builder) { b.Var("v", 1, 4, b.Int("int")) },
			"section \"a\\nb\""},
	} {
		b := linktest.New()
		b.Unit("a.c", 1)
		c.build(b)
		x := &facts.Facts{Variables: facts.VariablesAll, Globals: []string{"operator()"},
			Vars: []facts.Variable{{Name: "v", Section: "a\nb", Size: 4, File: -1}}}
		for _, checked := range []bool{true, false} {
			_, err := writeUnits(b, nil, x, write.Options{CheckNames: checked})
			if want := checked && c.err != ""; (err != nil) != want ||
				want && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s, names are checked: %v: error %v, want one with %q", c.what, checked, err,
					c.err)
			}
		}
	}
}

func TestTooManyMembers(t *testing.T) {
	for _, n := range []int{btf.MaxVlen, btf.MaxVlen + 1} {
		b := linktest.New()
		b.Unit("a.c", 1, b.Struct("s", slices.Repeat([]types.ID{b.Int("int")}, n)...))
		_, err := writeUnits(b, nil, nil, write.Options{})
		if (err != nil) != (n > btf.MaxVlen) {
			t.Errorf("%d members: error %v", n, err)
		}
	}
}
