package resolve

import (
	"fmt"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

type resolved struct {
	*Types
	*Units
	held *Candidates
}

// resolveUnits resolves the types of a builder's units.
func resolveUnits(p *linktest.Builder, b base.Base) resolved {
	t, u := Resolve(p.Survey(), b, nil, 1)
	return resolved{t.Types, u, t}
}

// pointee returns what the first member of struct k, a pointer, points to.
func pointee(t resolved, k Type) Type {
	refs := t.Refs(k)
	pointer := refs.Next(t.Shapes.Graph.ElemsOf(t.Node(k))[0].Ref)
	return t.RefOf(pointer)
}

func TestOneDefinition(t *testing.T) {
	p := linktest.New()
	inner := p.Struct("inner", p.Int("int"))
	outer := p.Struct("outer", p.Ptr(p.Stub("inner")))
	both, declares := p.Unit("", 1, inner, outer), p.Unit("", 1, outer)
	r := resolveUnits(p, nil)
	if r.Conflicts != 0 || !r.Fixed(outer) {
		t.Errorf("%d conflicts, outer is fixed: %v; want 0, true", r.Conflicts, r.Fixed(outer))
	}
	if r.In(both, outer) != r.In(declares, outer) || pointee(r, r.In(declares, outer)) != Type(inner) {
		t.Error("a forward declaration doesn't mean the only definition")
	}
}

// TestSeveralDefinitions: struct inner has a common definition and another one. In a unit that
// defines struct inner, the tag means that definition; in a unit that only declares struct inner,
// it means the common one.
func TestSeveralDefinitions(t *testing.T) {
	p := linktest.New()
	common, other := p.Struct("inner", p.Int("int")), p.Struct("inner", p.Int("int"), p.Int("int"))
	outer := p.Struct("outer", p.Ptr(p.Stub("inner")))
	most := p.Unit("", 2, common, outer)
	one := p.Unit("", 1, other, outer)
	declares := p.Unit("", 1, p.Struct("third", p.Ptr(p.Stub("inner"))))
	r := resolveUnits(p, nil)
	if r.Conflicts != 1 || r.Fixed(outer) {
		t.Errorf("%d conflicts, outer is fixed: %v; want 1, false", r.Conflicts, r.Fixed(outer))
	}
	for _, c := range []struct {
		unit int
		item types.ID
		want types.ID
	}{{most, outer, common}, {one, outer, other}, {declares, p.Units[declares].Items[0], common}} {
		if k := pointee(r, r.In(c.unit, c.item)); r.Shape(k) != c.want {
			t.Errorf("unit %d: the member leads to shape %d, want %d", c.unit, r.Shape(k), c.want)
		}
	}
	if r.In(most, outer) == r.In(one, outer) {
		t.Error("two different types are resolved to one")
	}
}

// TestForwardOfLinkedBTF: if a tag has several definitions, its forward declaration in BTF that is
// already linked stays a declaration.
func TestForwardOfLinkedBTF(t *testing.T) {
	for _, several := range []bool{false, true} {
		p := linktest.New()
		outer := p.Struct("outer", p.Ptr(p.Stub("inner")))
		linked := p.Unit("", 1, outer, p.Ptr(p.Stub("inner")), p.Stub("inner"))
		p.Units[linked].FromBTF = true
		p.Unit("", 2, p.Struct("inner", p.Int("int")))
		if several {
			p.Unit("", 1, p.Struct("inner", p.Int("int"), p.Int("int")))
		}
		r := resolveUnits(p, nil)
		k := pointee(r, r.In(linked, outer))
		if forward := r.Node(k).Kind == types.KindStub; forward != several {
			t.Errorf("several definitions: %v, stays a forward declaration: %v", several, forward)
		}
	}
}

// TestBase: a base declares struct inner, which the unit defines. The unit's struct outer is still
// the same type as the one in the base; structs that the base does not have are new types.
func TestBase(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	integer := b.Int("int", 4, 1, 32)
	pointer := b.Ref(btf.KindPtr, "", b.Fwd("inner", false))
	outerID := b.Composite(btf.KindStruct, "outer", 8, false,
		btf.Member{NameOff: b.Name("m0"), Type: pointer})
	parsed := must.Get(base.Parse(b.Finish()))(t)
	p := linktest.New()
	inner := p.Struct("inner", p.Int("int"))
	outer := p.Struct("outer", p.Ptr(p.Stub("inner")))
	own := p.Struct("own", p.Ptr(p.Stub("outer")))
	holder := p.Struct("holder", p.Ptr(p.Stub("inner")))
	u := p.Unit("", 1, inner, outer, own, holder)
	r := resolveUnits(p, parsed)
	for _, c := range []struct {
		name string
		item types.ID
		want uint32
	}{
		{"int", p.Int("int"), integer}, {"outer", outer, outerID}, {"inner", inner, 0}, {"own", own, 0},
	} {
		if id := r.BaseID(r.In(u, c.item)); id != c.want {
			t.Errorf("%s is type [%d] of the base, want [%d]", c.name, id, c.want)
		}
	}
	if k := pointee(r, r.In(u, own)); r.BaseID(k) != outerID {
		t.Error("what the unit adds doesn't lead to the base's struct outer")
	}
	refs := r.Refs(r.In(u, holder))
	if k := refs.Next(r.Shapes.Graph.ElemsOf(&r.Shapes.Nodes[holder])[0].Ref); r.BaseID(k) != 0 {
		t.Error("a pointer to the unit's struct inner is the base's, which points to a declaration")
	}
}

// TestHub: only one unit defines struct private, and means an uncommon struct inner by it. In all
// other units, struct device refers to that struct private. Although these units are in different
// environments, struct device has only two nodes.
func TestHub(t *testing.T) {
	const units = 100
	p := linktest.New()
	common, other := p.Struct("inner", p.Int("int")), p.Struct("inner", p.Int("int"), p.Int("int"))
	private := p.Struct("private", p.Ptr(p.Stub("inner")))
	device := p.Struct("device", p.Ptr(p.Stub("private")))
	defines := p.Unit("", 1, other, private, device)
	for i := range units {
		own := p.Struct(fmt.Sprint("own", i), p.Ptr(p.Stub("device")))
		p.Unit("", 1, common, device, own)
	}
	r := resolveUnits(p, nil)
	want := r.In(defines, private)
	for u := range p.Units {
		if k := pointee(r, r.In(u, device)); k != want {
			t.Fatalf("unit %d: struct device leads to type %d, want %d", u, k, want)
		}
	}
	if refs := r.VaryingRefs(want); r.Shape(r.RefOf(refs[0])) != other {
		t.Error("struct private doesn't lead to its unit's struct inner")
	}
	if n := len(r.made.g.nodes); n > units+8 {
		t.Errorf("%d nodes for %d units", n, units)
	}
}

// TestDeclaredHub: struct inst has two definitions, each in one unit. All other units with struct
// adapter only declare struct inst. A unit that only declares struct adapter means the type that
// these units have.
func TestDeclaredHub(t *testing.T) {
	p := linktest.New()
	one := p.Struct("inst", p.Ptr(p.Stub("adapter")))
	two := p.Struct("inst", p.Ptr(p.Stub("adapter")), p.Int("int"))
	adapter := p.Struct("adapter", p.Ptr(p.Stub("inst")))
	user := p.Struct("user", p.Ptr(p.Stub("adapter")))
	p.Unit("", 1, one, adapter)
	p.Unit("", 1, two, adapter)
	most := p.Unit("", 9, adapter)
	declares := p.Unit("", 1, user)
	r := resolveUnits(p, nil)
	want := r.In(most, adapter)
	if got := pointee(r, r.In(declares, user)); got != want {
		t.Errorf("struct adapter is type %d in the unit that declares it, and %d in most units",
			got, want)
	}
}
