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
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// builder makes units by hand, and links them.
type builder struct{ *linktest.Builder }

func newBuilder() *builder { return &builder{linktest.New()} }

// link links the units and lists the result. Each named type has one line: its kind, its name, and
// the types that it refers to, spelled out.
func (b *builder) link(t *testing.T, opt Options) (lines []string, res *Result) {
	t.Helper()
	res = must.Get(Link([]*object.Object{b.Object}, opt))(t)
	blob := must.Get(btf.Parse(res.BTF, blobOf(opt.Base)))(t)
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
	parsed := must.Get(base.Parse(b))(t)
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

// TestDecided writes what package decide makes: functions, tags, variables and their section.
func TestDecided(t *testing.T) {
	b := newBuilder()
	b.Unit("a.c", 1)
	i := b.Hold(b.Int("int"))
	b.Fn("k", 1, 0, b.Proto(i, b.Ptr(i), b.Ptr(i)))
	b.Fn("order", 1, types.FuncReordered, b.Proto(i))
	tagged := b.Fn("plain", 1, 0, b.Proto(i, i))
	b.Hold(b.Add(types.Node{Kind: types.KindDeclTag, Name: b.Str("mine"), Ref: tagged, Aux: 1}))
	b.Var("v", 1, 4, i)
	x := &facts.Facts{
		Globals: []string{"k", "order", "plain"},
		Kfuncs:  []facts.Kfunc{{Name: "gone"}, {Name: "k", Flags: 1<<12 | 1<<14}, {Name: "order"}},
		Vars: []facts.Variable{{Name: "v", Section: facts.PerCPUSection, Offset: 8, Size: 4,
			File: -1}},
	}
	lines, res := b.link(t,
		Options{Facts: x, Features: features.Default().With(features.Attributes)})
	wantLines(t, lines,
		"datasec .data..percpu size 12 v@8+4",
		"type_tag address_space(1)(int int)",
		"decl_tag bpf_fastcall component -1(func k linkage 0(func_proto(int int, ptr, ptr)))",
		"decl_tag bpf_kfunc component -1(func k linkage 0(func_proto(int int, ptr, ptr)))",
		"int int",
		"func k linkage 0(func_proto(int int, ptr(type_tag address_space(1)), ptr(int int)))",
		"decl_tag mine component 0(func plain linkage 0(func_proto(int int, int int)))",
		"func plain linkage 0(func_proto(int int, int int))",
		"var v linkage 1(int int)",
	)
	if len(res.Skipped) != 1 || res.Skipped[0].Name != "order" {
		t.Errorf("skipped %v, want the function order", res.Skipped)
	}
	blob := must.Get(btf.Parse(res.BTF, nil))(t)
	for i := range blob.Types {
		if x := &blob.Types[i]; x.Kind == btf.KindTypeTag && !x.KFlag {
			t.Error("the type tag of an arena pointer is not an attribute: its kind flag is not set")
		}
	}
	if again := linkOne(t, Options{}, fromBTF(t, blob)); !bytes.Equal(res.BTF, again) {
		t.Error("linking again changes the result")
	}
}
