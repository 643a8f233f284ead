package link

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/diff"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
	"github.com/rules-btf/rules_btf/internal/verify"
)

// spelling is a type's own content with its references left out, and these in order. It is written without a look at
// how the link does it.
func spelling(b *btf.Blob, id uint32) (string, []uint32) {
	if id == 0 {
		return "void", nil
	}
	t, own := b.ByID(id)
	head := fmt.Sprintf("%d %q %v", t.Kind, b.TypeName(t), t.KFlag)
	name := func(off uint32) string { s, _ := b.Name(off); return s }
	var refs []uint32
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		head += fmt.Sprintf(" size %d", t.SizeOrType)
		for _, m := range own.MembersOf(t) {
			head += fmt.Sprintf(" (%q %d)", name(m.NameOff), m.Offset)
			refs = append(refs, m.Type)
		}
	case btf.KindEnum, btf.KindEnum64:
		head += fmt.Sprintf(" size %d", t.SizeOrType)
		for _, e := range own.EnumsOf(t) {
			head += fmt.Sprintf(" (%q %d)", name(e.NameOff), e.Value)
		}
	case btf.KindArray:
		a := own.ArrayOf(t)
		head += fmt.Sprintf(" %d", a.Nelems)
		refs = append(refs, a.Elem, a.Index)
	case btf.KindFuncProto:
		refs = append(refs, t.SizeOrType)
		for _, p := range own.ParamsOf(t) {
			head += fmt.Sprintf(" (%q)", name(p.NameOff))
			refs = append(refs, p.Type)
		}
	case btf.KindDatasec:
		head += fmt.Sprintf(" size %d", t.SizeOrType)
		for _, s := range own.SecinfosOf(t) {
			head += fmt.Sprintf(" (%d %d)", s.Offset, s.Size)
			refs = append(refs, s.Type)
		}
	case btf.KindInt, btf.KindFloat:
		head += fmt.Sprintf(" size %d %x", t.SizeOrType, t.Extra)
	case btf.KindFwd:
	default:
		head += fmt.Sprintf(" %d %x", t.Extra, t.Vlen)
		refs = append(refs, t.SizeOrType)
	}
	return head, refs
}

// bisimulation numbers all ids of a blob and its bases so that equal numbers are bisimilar types, the naive way.
func bisimulation(b *btf.Blob) []int {
	n := int(b.EndID())
	class := make([]int, n)
	for count := 1; ; {
		index := map[string]int{}
		next := make([]int, n)
		for id := range n {
			s, refs := spelling(b, uint32(id))
			for _, r := range refs {
				s += fmt.Sprintf(" %d", class[r])
			}
			if _, ok := index[s]; !ok {
				index[s] = len(index)
			}
			next[id] = index[s]
		}
		class = next
		if len(index) == count {
			return class
		}
		count = len(index)
	}
}

// images finds for each shape of a unit the types of b that it can be: of equal content as deep as the unit can see. A
// tag that the unit defines must be an image of its definition; one that it only declares may be any type of the tag.
// A definition may also be one of a base that is equal up to tags which the base only declares.
func images(g *types.Graph, u *object.Unit, b *btf.Blob) map[types.ID]map[uint32]bool {
	defs := map[string]types.ID{}
	tagKey := func(t types.Tag, name types.Str) string { return fmt.Sprint(t, " ", g.Strs.String(name)) }
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
		case types.KindArray:
			refs = append(refs, n.Ref, types.ID(n.Aux))
		case types.KindFuncProto, types.KindPtr, types.KindConst, types.KindTypedef, types.KindFunc:
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
				if s, _ := b.Name(m.NameOff); s != g.Strs.String(elems[i].Name) || uint64(m.Offset) != elems[i].Val {
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
			if out < b.StartID && (shapes[id][out] || id != 0 && g.Nodes[id].IsDefinition() && declares(b, out,
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
	settle(shapes, func(id types.ID, out uint32) bool { return g.Nodes[id].IsDefinition() && loose[id][out] })
	return shapes
}

// declares tells whether a type only declares the tag.
func declares(b *btf.Blob, id uint32, tag types.Tag, name string) bool {
	if id == 0 {
		return false
	}
	t, _ := b.ByID(id)
	is := types.TagOf(types.Kind(t.Kind))
	if t.Kind == btf.KindFwd {
		is = types.TagStruct
		if t.KFlag {
			is = types.TagUnion
		}
	}
	return isDeclaration(t) && is == tag && b.TypeName(t) == name
}

// isDeclaration tells whether a type only declares a tag.
func isDeclaration(t *btf.Type) bool {
	return t.Kind == btf.KindFwd || t.Kind == btf.KindEnum && t.Vlen == 0
}

// likeBase pairs the types of b with the base's that they are equal to up to what the base only declares, the naive way.
func likeBase(b *btf.Blob) map[[2]uint32]bool {
	like := map[[2]uint32]bool{}
	for x := range b.EndID() {
		xs, _ := spelling(b, x)
		for y := range b.StartID {
			ys, _ := spelling(b, y)
			same := xs == ys
			if x != 0 && !same {
				t, _ := b.ByID(x)
				k := types.TagOf(types.Kind(t.Kind))
				same = k != 0 && b.TypeName(t) != "" && declares(b, y, k, b.TypeName(t))
			}
			if same {
				like[[2]uint32{x, y}] = true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for p := range like {
			_, xr := spelling(b, p[0])
			_, yr := spelling(b, p[1])
			for i := range yr { // a declaration has none
				if !like[[2]uint32{xr[i], yr[i]}] {
					delete(like, p)
					changed = true
					break
				}
			}
		}
	}
	return like
}

// checkSplit checks that no definition is written that a base has, but for what it only declares.
func checkSplit(t *testing.T, b *btf.Blob) {
	t.Helper()
	for p := range likeBase(b) {
		if p[0] < b.StartID {
			continue
		}
		x, _ := b.ByID(p[0])
		y, _ := b.ByID(p[1])
		if types.TagOf(types.Kind(x.Kind)) != 0 && b.TypeName(x) != "" && !isDeclaration(y) {
			t.Errorf("type %d is the base's %d\n%s", p[0], p[1], describe(b))
		}
	}
}

// contrast lists what only one of two results has, by name and content.
func contrast(a, b *btf.Blob) string {
	if a == nil || b == nil {
		return "unreadable"
	}
	diffs, sum := diff.Compare(diff.Side{a}, diff.Side{b}, diff.Options{Indirect: true})
	s := sum.String()
	for _, d := range diffs {
		s += "\n" + d.String()
	}
	for id := a.StartID; id < min(a.EndID(), b.EndID()); id++ {
		x, xr := spelling(a, id)
		y, yr := spelling(b, id)
		if x != y || fmt.Sprint(xr) != fmt.Sprint(yr) {
			s += fmt.Sprintf("\n[%d] %s %v, %s %v", id, x, xr, y, yr)
		}
	}
	return s
}

func describe(b *btf.Blob) string {
	var s []string
	for id := uint32(1); id < b.EndID(); id++ {
		head, refs := spelling(b, id)
		s = append(s, fmt.Sprintf("[%d] %s -> %v", id, head, refs))
	}
	return strings.Join(s, "\n")
}

// checkLinked checks a result against the units that it was made of.
func checkLinked(t *testing.T, out []byte, base *btf.Blob, o *object.Object) *btf.Blob {
	t.Helper()
	b, err := btf.Parse(out, base)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
		if v.Rule != "no-types" && v.Scope != verify.Load { // random types may well contain themselves
			t.Errorf("%v", v)
		}
	}
	class := bisimulation(b)
	first := map[int]uint32{}
	for id := uint32(0); id < b.EndID(); id++ {
		if f, ok := first[class[id]]; ok && id >= b.StartID {
			if k, _ := b.ByID(id); k.Kind != btf.KindFunc || f >= b.StartID {
				t.Errorf("types %d and %d are the same:\n%s", f, id, describe(b))
			}
		} else if !ok {
			first[class[id]] = id
		}
	}
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
				t.Errorf("unit %d: no type of the result is its %q (kind %d)\n%s", i, o.Graph.Strs.String(n.Name), n.Kind, describe(b))
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

func TestRandomUnits(t *testing.T) {
	runs := 600
	if testing.Short() {
		runs = 200
	}
	for seed := range int64(runs) {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(7), 1+r.Intn(6))
		out := linkOne(t, Options{Features: features.Default()}, o)
		b := checkLinked(t, out, nil, o)
		for range 3 {
			parts, err := scatter(r, o)
			if err != nil {
				t.Fatal(err)
			}
			if other := linkOne(t, Options{Features: features.Default()}, parts...); !bytes.Equal(out, other) {
				ob, _ := btf.Parse(other, nil)
				t.Errorf("seed %d: the order of units matters:\n%s", seed, contrast(b, ob))
			}
		}
		if again := linkOne(t, Options{}, fromBTF(t, b)); !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, nil)
			t.Errorf("seed %d: linking again changes the result:\n%s", seed, contrast(b, ab))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestRandomLinked links results of links, in which tags have several definitions, with each other and with units.
func TestRandomLinked(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		var blobs []*btf.Blob
		for range 2 + r.Intn(2) {
			b, err := btf.Parse(linkOne(t, Options{}, randomUnits(r, 1+r.Intn(4), 1+r.Intn(4))), nil)
			if err != nil {
				t.Fatal(err)
			}
			blobs = append(blobs, b)
		}
		inputs := []*object.Object{randomUnits(r, 4, 2)}
		for _, b := range blobs {
			inputs = append(inputs, fromBTF(t, b))
		}
		m, err := object.Merge(inputs...)
		if err != nil {
			t.Fatal(err)
		}
		out := linkOne(t, Options{}, m)
		b, err := btf.Parse(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		class := bisimulation(b)
		sort.Ints(class)
		for i := 1; i < len(class); i++ {
			if class[i] == class[i-1] {
				t.Fatalf("seed %d: the result holds a type twice\n%s", seed, describe(b))
			}
		}
		parts, err := scatter(r, m)
		if err != nil {
			t.Fatal(err)
		}
		if other := linkOne(t, Options{}, parts...); !bytes.Equal(out, other) {
			ob, _ := btf.Parse(other, nil)
			t.Fatalf("seed %d: the order of units matters:\n%s", seed, contrast(b, ob))
		}
		if again := linkOne(t, Options{}, fromBTF(t, b)); !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, nil)
			t.Fatalf("seed %d: linking again changes the result:\n%s", seed, contrast(b, ab))
		}
	}
}

// undefine takes the definitions of some tags out of units, so that these only declare them.
func undefine(r *rand.Rand, o *object.Object) {
	gone := map[types.Str]bool{}
	for i := range o.Units {
		u := &o.Units[i]
		u.Items = slices.DeleteFunc(slices.Clone(u.Items), func(id types.ID) bool {
			n := &o.Graph.Nodes[id]
			if !n.IsDefinition() {
				return false
			}
			if _, ok := gone[n.Name]; !ok {
				gone[n.Name] = r.Intn(3) == 0
			}
			return gone[n.Name]
		})
	}
}

// hasLookalikes tells whether a blob has several definitions of one tag.
func hasLookalikes(b *btf.Blob) bool {
	seen := map[string]bool{}
	for id := uint32(1); id < b.EndID(); id++ {
		t, _ := b.ByID(id)
		if tag := types.TagOf(types.Kind(t.Kind)); tag != 0 && b.TypeName(t) != "" && !isDeclaration(t) {
			key := fmt.Sprint(tag, b.TypeName(t))
			if seen[key] {
				return true
			}
			seen[key] = true
		}
	}
	return false
}

// TestRandomSplit links units on a base that other units made, which may only declare what these define.
func TestRandomSplit(t *testing.T) {
	runs := 800
	if testing.Short() {
		runs = 300
	}
	joined := 0
	for seed := range int64(runs) {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(6), 2+r.Intn(5))
		k := 1 + r.Intn(len(o.Units)-1)
		low, high := *o, *o
		low.Units, high.Units = slices.Clone(o.Units[:k]), o.Units[k:]
		if r.Intn(3) > 0 {
			undefine(r, &low)
		}
		base, err := btf.Parse(linkOne(t, Options{}, &low), nil)
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Bases: []*btf.Blob{base}}
		out := linkOne(t, opt, &high)
		b := checkLinked(t, out, base, &high)
		checkSplit(t, b)
		for p := range likeBase(b) {
			if x, y := p[0], p[1]; x >= b.StartID {
				if f, _ := b.ByID(y); y != 0 && isDeclaration(f) {
					joined++
				}
			}
		}
		parts, err := scatter(r, &high)
		if err != nil {
			t.Fatal(err)
		}
		if other := linkOne(t, opt, parts...); !bytes.Equal(out, other) {
			ob, _ := btf.Parse(other, base)
			t.Errorf("seed %d: the order of units matters:\n%s", seed, contrast(b, ob))
		}
		// Where a base has several definitions of a tag, split BTF may pin them in other ways than the base alone does.
		// The link then knows them by their own content only, which random types often share.
		if again := linkOne(t, opt, fromBTF(t, b)); !hasLookalikes(base) && !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, base)
			t.Errorf("seed %d: linking again changes the result:\n%s\n%s", seed, contrast(b, ab), describe(b))
		}
		if t.Failed() {
			t.Fatalf("seed %d, base ends at %d", seed, base.EndID())
		}
	}
	if joined < runs/4 {
		t.Errorf("only %d definitions of tags that a base declares", joined)
	}
}
