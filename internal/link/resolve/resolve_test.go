package resolve

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// program is a few units over one graph.
type program struct {
	g     *types.Graph
	units []object.Unit
}

func (p *program) str(s string) types.Str { return p.g.Strs.Intern([]byte(s)) }

func (p *program) int() types.ID {
	return p.g.Add(types.Node{Kind: types.KindInt, Name: p.str("int"), Size: 4, Aux: 1<<24 | 32}, nil)
}

func (p *program) stub(tag string) types.ID { return p.g.Stub(types.TagStruct, p.str(tag)) }

func (p *program) pointer(to types.ID) types.ID {
	return p.g.Add(types.Node{Kind: types.KindPtr, Ref: to}, nil)
}

// define adds struct tag with members of these types.
func (p *program) define(tag string, members ...types.ID) types.ID {
	n := types.Node{Kind: types.KindStruct, Name: p.str(tag), Size: uint32(8 * len(members))}
	var elems []types.Elem
	for i, m := range members {
		elems = append(elems, types.Elem{Name: p.str(string(rune('a' + i))), Ref: m, Val: uint64(64 * i)})
	}
	return p.g.Add(n, elems)
}

func (p *program) unit(count uint32, items ...types.ID) int {
	p.units = append(p.units, object.Unit{Count: count, Items: items})
	return len(p.units) - 1
}

func (p *program) resolve(b base.Base) *Types {
	s := survey.New(p.g, p.units)
	s.Shapes()
	s.Holders()
	return Resolve(s, b, nil, 1)
}

// pointee returns the type that the pointer which is the first member of struct k points to.
func pointee(t *Types, k Type) Type {
	refs := t.Refs(k)
	pointer := refs.Next(t.Graph.ElemsOf(t.Node(k))[0].Ref)
	return t.RefOf(pointer)
}

func TestOneDefinition(t *testing.T) {
	p := &program{g: types.New()}
	inner := p.define("inner", p.int())
	outer := p.define("outer", p.pointer(p.stub("inner")))
	both, declares := p.unit(1, inner, outer), p.unit(1, outer)
	r := p.resolve(nil)
	if r.Conflicts != 0 || !r.Fixed(outer) {
		t.Errorf("%d conflicts, outer is fixed: %v; want 0, true", r.Conflicts, r.Fixed(outer))
	}
	if r.In(both, outer) != r.In(declares, outer) || pointee(r, r.In(declares, outer)) != Type(inner) {
		t.Error("a forward declaration doesn't mean the only definition")
	}
}

// TestSeveralDefinitions: struct inner has a common definition and another one. Each unit that
// defines it means its own; one that only declares it means the common one.
func TestSeveralDefinitions(t *testing.T) {
	p := &program{g: types.New()}
	common, other := p.define("inner", p.int()), p.define("inner", p.int(), p.int())
	outer := p.define("outer", p.pointer(p.stub("inner")))
	most := p.unit(2, common, outer)
	one := p.unit(1, other, outer)
	declares := p.unit(1, p.define("third", p.pointer(p.stub("inner"))))
	r := p.resolve(nil)
	if r.Conflicts != 1 || r.Fixed(outer) {
		t.Errorf("%d conflicts, outer is fixed: %v; want 1, false", r.Conflicts, r.Fixed(outer))
	}
	for _, c := range []struct {
		unit int
		item types.ID
		want types.ID
	}{{most, outer, common}, {one, outer, other}, {declares, p.units[declares].Items[0], common}} {
		if k := pointee(r, r.In(c.unit, c.item)); r.Shape(k) != c.want {
			t.Errorf("unit %d: the member leads to shape %d, want %d", c.unit, r.Shape(k), c.want)
		}
	}
	if r.In(most, outer) == r.In(one, outer) {
		t.Error("two types are one")
	}
}

// TestForwardOfLinkedBTF: a forward declaration in BTF that was linked before stays one if there
// are several definitions.
func TestForwardOfLinkedBTF(t *testing.T) {
	for _, several := range []bool{false, true} {
		p := &program{g: types.New()}
		outer := p.define("outer", p.pointer(p.stub("inner")))
		linked := p.unit(1, outer, p.pointer(p.stub("inner")), p.stub("inner"))
		p.units[linked].Linked = true
		p.unit(2, p.define("inner", p.int()))
		if several {
			p.unit(1, p.define("inner", p.int(), p.int()))
		}
		r := p.resolve(nil)
		k := pointee(r, r.In(linked, outer))
		if forward := r.Node(k).Kind == types.KindStub; forward != several {
			t.Errorf("several definitions: %v, stays a forward declaration: %v", several, forward)
		}
	}
}

// TestBase: a base declares struct inner, which the unit defines. The unit's struct outer is the
// base's all the same; a struct that the base does not have isn't.
func TestBase(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	integer := b.Int("int", 4, 1, 32)
	pointer := b.Ref(btf.KindPtr, "", b.Fwd("inner", false))
	outerID := b.Composite(btf.KindStruct, "outer", 8, false,
		btf.Member{NameOff: b.Name("a"), Type: pointer})
	parsed, err := base.Parse(b.Finish())
	if err != nil {
		t.Fatal(err)
	}
	p := &program{g: types.New()}
	inner := p.define("inner", p.int())
	outer := p.define("outer", p.pointer(p.stub("inner")))
	own := p.define("own", p.pointer(p.stub("outer")))
	holder := p.define("holder", p.pointer(p.stub("inner")))
	u := p.unit(1, inner, outer, own, holder)
	r := p.resolve(parsed)
	for _, c := range []struct {
		name string
		item types.ID
		want uint32
	}{{"int", p.int(), integer}, {"outer", outer, outerID}, {"inner", inner, 0}, {"own", own, 0}} {
		if id := r.BaseID(r.In(u, c.item)); id != c.want {
			t.Errorf("%s is type [%d] of the base, want [%d]", c.name, id, c.want)
		}
	}
	if k := pointee(r, r.In(u, own)); r.BaseID(k) != outerID {
		t.Error("what the unit adds doesn't lead to the base's struct outer")
	}
	refs := r.Refs(r.In(u, holder))
	if k := refs.Next(r.Graph.ElemsOf(&r.Nodes[holder])[0].Ref); r.BaseID(k) != 0 {
		t.Error("a pointer to the unit's struct inner is the base's, which points to a declaration")
	}
}
