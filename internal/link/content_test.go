package link

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// The result holds every type of every unit, and no others.

// images finds, for each shape of a unit, the types of b that the shape can resolve to (its
// images). An image has the same content as its shape, at every depth: a tag that the unit defines
// must resolve to an image of that definition; a tag that the unit only declares may resolve to any
// type of the tag. A definition in a base is also an image if it differs only in tags that the base
// only declares.
func images(g *types.Graph, u *object.Unit, b *btf.Blob) map[types.ID]map[uint32]bool {
	defs := map[string]types.ID{}
	tagKey := func(t types.Tag, name types.Str) string {
		return fmt.Sprint(t, " ",
			g.Strs.String(name))
	}
	for _, id := range u.Items {
		if n := &g.Nodes[id]; n.IsDefinition() {
			defs[tagKey(types.TagOf(n.Kind), n.Name)] = id
		}
	}
	target := func(id types.ID) types.ID {
		if n := &g.Nodes[id]; n.Kind == types.KindStub {
			if d := defs[tagKey(types.Tag(n.Aux), n.Name)]; d != 0 {
				return d
			}
		}
		return id
	}
	refsOf := func(id types.ID) []types.ID {
		n := &g.Nodes[id]
		var refs []types.ID
		switch n.Kind {
		case types.KindArray, types.KindFuncProto, types.KindPtr, types.KindConst,
			types.KindTypedef, types.KindFunc:
			refs = append(refs, n.Ref)
		}
		if n.Kind != types.KindEnum {
			for _, e := range g.ElemsOf(n) {
				refs = append(refs, e.Ref)
			}
		}
		for i := range refs {
			refs[i] = target(refs[i])
		}
		return refs
	}
	possible := func(id types.ID, out uint32) bool {
		if id == 0 || out == 0 {
			return id == 0 && out == 0
		}
		n := &g.Nodes[id]
		t, own := b.ByID(out)
		if b.TypeName(t) != g.Strs.String(n.Name) {
			return false
		}
		if n.Kind == types.KindStub {
			k := types.TagOf(types.Kind(t.Kind))
			if t.Kind == btf.KindFwd {
				k = types.TagStruct
				if t.KFlag {
					k = types.TagUnion
				}
			}
			return k == types.Tag(n.Aux)
		}
		if types.Kind(t.Kind) != n.Kind {
			return false
		}
		elems := g.ElemsOf(n)
		switch t.Kind {
		case btf.KindStruct, btf.KindUnion:
			if t.SizeOrType != n.Size || int(t.Vlen) != len(elems) {
				return false
			}
			for i, m := range own.MembersOf(t) {
				if s, _ := b.Name(m.NameOff); s != g.Strs.String(elems[i].Name) ||
					uint64(m.Offset) != elems[i].Val {
					return false
				}
			}
		case btf.KindEnum:
			if int(t.Vlen) != len(elems) {
				return false
			}
			for i, e := range own.EnumsOf(t) {
				if e.Value != elems[i].Val {
					return false
				}
			}
		case btf.KindArray:
			return own.ArrayOf(t).Nelems == n.Size
		case btf.KindFuncProto:
			return int(t.Vlen) == len(elems)
		}
		return true
	}
	shapes, loose := map[types.ID]map[uint32]bool{}, map[types.ID]map[uint32]bool{}
	isStub := func(id types.ID) bool { return id == 0 || g.Nodes[id].Kind == types.KindStub }
	var visit func(id types.ID)
	visit = func(id types.ID) {
		if shapes[id] != nil {
			return
		}
		shapes[id], loose[id] = map[uint32]bool{}, map[uint32]bool{}
		for out := range b.EndID() {
			if possible(id, out) {
				shapes[id][out] = true
			}
			if out < b.StartID && (shapes[id][out] || id != 0 && g.Nodes[id].IsDefinition() &&
				declares(b, out,
					types.TagOf(g.Nodes[id].Kind), g.Strs.String(g.Nodes[id].Name))) {
				loose[id][out] = true
			}
		}
		if isStub(id) {
			return
		}
		for _, r := range refsOf(id) {
			visit(r)
		}
	}
	for _, id := range u.Items {
		visit(id)
	}
	settle := func(sets map[types.ID]map[uint32]bool, holds func(id types.ID, out uint32) bool) {
		for changed := true; changed; {
			changed = false
			for id, set := range sets {
				if isStub(id) {
					continue
				}
				refs := refsOf(id)
				for out := range set {
					if holds(id, out) {
						continue
					}
					_, to := spelling(b, out)
					for i, r := range refs {
						if i >= len(to) || !sets[r][to[i]] {
							delete(set, out)
							changed = true
							break
						}
					}
				}
			}
		}
	}
	settle(loose, func(_ types.ID, out uint32) bool {
		t, _ := b.ByID(out)
		return out != 0 && isDeclaration(t)
	})
	settle(shapes, func(id types.ID, out uint32) bool {
		return g.Nodes[id].IsDefinition() &&
			loose[id][out]
	})
	return shapes
}

// checkLinked checks a result against its units: no type is duplicated, lost or new.
func checkLinked(t *testing.T, out []byte, base *btf.Blob, o *object.Object) *btf.Blob {
	t.Helper()
	b := must.Get(btf.Parse(out, base))(t)
	for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
		if v.Rule != "no-types" && v.Scope != verify.Load { // random types may contain themselves
			t.Errorf("%v", v)
		}
	}
	checkExact(t, b)
	used := map[uint32]bool{}
	for i := range o.Units {
		u := &o.Units[i]
		shapes := images(o.Graph, u, b)
		for _, id := range u.Items {
			n := &o.Graph.Nodes[id]
			if n.Kind == types.KindFunc {
				continue
			}
			if len(shapes[id]) == 0 {
				t.Errorf("unit %d: no type of the result is its %q (kind %d)\n%s", i,
					o.Graph.Strs.String(n.Name), n.Kind, describe(b))
			}
		}
		for _, set := range shapes {
			for out := range set {
				used[out] = true
			}
		}
	}
	for id := b.StartID; id < b.EndID(); id++ {
		if k, _ := b.ByID(id); k.Kind != btf.KindFunc && k.Kind != btf.KindFwd && !used[id] {
			t.Errorf("no unit holds type %d\n%s", id, describe(b))
		}
	}
	return b
}

// blobImages reports, for each type of a, whether b has a type of equal content. A forward
// declaration in a may be any type of its tag.
func blobImages(a, b *btf.Blob) []bool {
	fits := func(x, y uint32) bool {
		s, _ := spelling(a, x)
		o, _ := spelling(b, y)
		if s == o || x == 0 || y == 0 {
			return s == o
		}
		s1, _ := a.ByID(x)
		s2, _ := b.ByID(y)
		if a.TypeName(s1) != b.TypeName(s2) {
			return false
		}
		return s1.Kind == btf.KindFwd && (s2.Kind == btf.KindStruct && !s1.KFlag ||
			s2.Kind == btf.KindUnion && s1.KFlag) ||
			s1.Kind == btf.KindEnum && s1.Vlen == 0 && s2.Kind == btf.KindEnum
	}
	free := func(x uint32) bool {
		t, _ := a.ByID(x)
		return t != nil && (t.Kind == btf.KindFwd || t.Kind == btf.KindEnum)
	}
	sets := make([]map[uint32]bool, a.EndID())
	for x := range a.EndID() {
		sets[x] = map[uint32]bool{}
		for y := range b.EndID() {
			if fits(x, y) {
				sets[x][y] = true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for x := range a.EndID() {
			_, from := spelling(a, x)
			for y := range sets[x] {
				_, to := spelling(b, y)
				ok := free(x) || len(from) == len(to)
				for i := 0; ok && !free(x) && i < len(from); i++ {
					ok = sets[from[i]][to[i]]
				}
				if !ok {
					delete(sets[x], y)
					changed = true
				}
			}
		}
	}
	found := make([]bool, a.EndID())
	for x := range found {
		found[x] = len(sets[x]) > 0
	}
	return found
}

func TestLinkedContentStays(t *testing.T) {
	for seed := range int64(100) {
		r := rand.New(rand.NewSource(seed))
		var blobs []*btf.Blob
		var inputs []*object.Object
		for range 2 + r.Intn(2) {
			b, err := btf.Parse(linkOne(t, Options{}, randomUnits(r, 1+r.Intn(4), 1+r.Intn(4))), nil)
			must.OK(t, err)
			blobs, inputs = append(blobs, b), append(inputs, fromBTF(t, b))
		}
		out := must.Get(btf.Parse(linkOne(t, Options{}, inputs...), nil))(t)
		for _, b := range blobs {
			for id, ok := range blobImages(b, out) {
				if !ok {
					t.Fatalf("seed %d: type %d is lost\n%s\n\n%s", seed, id, describe(b), describe(out))
				}
			}
		}
	}
}
