package link

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Split BTF holds what its bases don't have.

// declares reports whether a type is only a declaration of the given tag.
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

// isDeclaration reports whether a type only declares a tag.
func isDeclaration(t *btf.Type) bool {
	return t.Kind == btf.KindFwd || t.Kind == btf.KindEnum && t.Vlen == 0
}

// likeBase pairs types of b with equal types of the base, in the naive way. A tag that the base
// only declares equals any definition.
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

// checkSplit checks that no definition of a base is written again, except where the base only
// declares the tag.
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

// undefine removes the definitions of some tags from units, so that the units only declare these
// tags.
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

// TestRandomSplit links units on a base that other units made. The base may have only a declaration
// of a tag that the linked units define.
func TestRandomSplit(t *testing.T) {
	runs, joined := seeds(200), int64(0)
	for seed := range runs {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(6), 2+r.Intn(5))
		k := 1 + r.Intn(len(o.Units)-1)
		low, high := *o, *o
		low.Units, high.Units = slices.Clone(o.Units[:k]), o.Units[k:]
		if r.Intn(3) > 0 {
			undefine(r, &low)
		}
		base := must.Get(btf.Parse(linkOne(t, Options{}, &low), nil))(t)
		opt := Options{Base: on(t, base)}
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
		parts := must.Get(scatter(r, &high))(t)
		if other := linkOne(t, opt, parts...); !bytes.Equal(out, other) {
			ob, _ := btf.Parse(other, base)
			t.Errorf("seed %d: the order of units matters:\n%s", seed, contrast(b, ob))
		}
		if again := linkOne(t, opt, fromBTF(t, b)); !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, base)
			t.Errorf("seed %d: linking again changes the result:\n%s\n%s", seed, contrast(b, ab),
				describe(b))
		}
		if t.Failed() {
			t.Fatalf("seed %d, base ends at %d", seed, base.EndID())
		}
	}
	if joined < runs/4 {
		t.Errorf("only %d definitions of tags that a base declares", joined)
	}
}

// TestRandomSplits links several split BTFs that share a base with each other and with units. Their
// references to the base stay as they are, even if other inputs define the same tags.
func TestRandomSplits(t *testing.T) {
	for seed := range seeds(80) {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(6), 4+r.Intn(5))
		part := func(from, to int) *object.Object {
			p := *o
			p.Units = slices.Clone(o.Units[from:to])
			return &p
		}
		base := must.Get(btf.Parse(linkOne(t, Options{}, part(0, 2)), nil))(t)
		opt := Options{Base: on(t, base)}
		var splits []*btf.Blob
		inputs := []*object.Object{part(4, len(o.Units))}
		for i := 2; i < 4; i++ {
			b := must.Get(btf.Parse(linkOne(t, opt, part(i, i+1)), base))(t)
			splits, inputs = append(splits, b), append(inputs, fromBTF(t, b))
		}
		m := must.Get(object.Merge(inputs...))(t)
		out := linkOne(t, opt, m)
		b := must.Get(btf.Parse(out, base))(t)
		checkExact(t, b)
		checkSplit(t, b)
		for _, s := range splits {
			for id, ok := range blobImages(s, b) {
				if !ok {
					t.Errorf("type %d is lost\n%s\n\n%s", id, describe(s), describe(b))
				}
			}
		}
		parts := must.Get(scatter(r, m))(t)
		if other := linkOne(t, opt, parts...); !bytes.Equal(out, other) {
			ob, _ := btf.Parse(other, base)
			t.Errorf("the order of units matters:\n%s", contrast(b, ob))
		}
		if again := linkOne(t, opt, fromBTF(t, b)); !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, base)
			t.Errorf("linking again changes the result:\n%s", contrast(b, ab))
		}
		if t.Failed() {
			t.Fatalf("seed %d, base ends at %d", seed, base.EndID())
		}
	}
}

// likeLast reports whether a blob has the same types as its base, apart from the definitions that
// these types lead to. If the link reads such a blob and its bases, it mistakes the blob for one of
// the bases. In practice, this happens only if two modules have exactly the same types.
func likeLast(b *btf.Blob) bool {
	if b.Base == nil || len(b.Types) != len(b.Base.Types) {
		return false
	}
	for i := range uint32(len(b.Types)) {
		x, _ := spelling(b, b.StartID+i)
		y, _ := spelling(b, b.Base.StartID+i)
		if x != y {
			return false
		}
	}
	return true
}

// TestRandomChain links units on a chain of bases, in which a higher base may define what a lower
// one only declares.
func TestRandomChain(t *testing.T) {
	for seed := range seeds(150) {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(5), 3+r.Intn(5))
		first := 1 + r.Intn(len(o.Units)-2)
		second := first + 1 + r.Intn(len(o.Units)-first-1)
		var base *btf.Blob
		var opt Options
		for layer, units := range [][]object.Unit{o.Units[:first], o.Units[first:second],
			o.Units[second:]} {
			part := *o
			part.Units = slices.Clone(units)
			if layer < 2 && r.Intn(3) > 0 {
				undefine(r, &part)
			}
			out := linkOne(t, opt, &part)
			b := checkLinked(t, out, base, &part)
			checkSplit(t, b)
			parts := must.Get(scatter(r, &part))(t)
			if other := linkOne(t, opt, parts...); !bytes.Equal(out, other) {
				ob, _ := btf.Parse(other, base)
				t.Errorf("the order of units matters:\n%s", contrast(b, ob))
			}
			if again := linkOne(t, opt, fromBTF(t, b)); !likeLast(b) && !bytes.Equal(out, again) {
				ab, _ := btf.Parse(again, base)
				t.Errorf("linking again changes the result:\n%s\n%s", contrast(b, ab), describe(b))
			}
			if t.Failed() {
				t.Fatalf("seed %d, layer %d from %d on", seed, layer, b.StartID)
			}
			base, opt.Base = b, on(t, b)
		}
	}
}

// TestForwardsInSplit links split BTF that was never deduplicated; its base only declares some of
// the tags. If each tag has one definition, the result must be the same as when that BTF is read
// without a base.
func TestForwardsInSplit(t *testing.T) {
	runs, resolved := seeds(150), int64(0)
	for seed := range runs {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(6), 2+r.Intn(5))
		one := r.Intn(2) == 0
		if one {
			oneDefinition(o)
		}
		k := 1 + r.Intn(len(o.Units)-1)
		low, high := *o, *o
		low.Units, high.Units = slices.Clone(o.Units[:k]), o.Units[k:]
		undefine(r, &low)
		base := must.Get(btf.Parse(linkOne(t, Options{}, &low), nil))(t)
		opt := Options{Base: on(t, base)}
		parts := unitBlobs(t, &high)
		var want []byte
		if one {
			want = linkOne(t, opt, fromBTF(t, joined(t, nil, parts)))
		}
		for range 3 {
			split := joined(t, base, parts)
			out := linkOne(t, opt, fromBTF(t, split))
			b := must.Get(btf.Parse(out, base))(t)
			if want == nil {
				want = out
			}
			if !bytes.Equal(out, want) {
				wb, _ := btf.Parse(want, base)
				t.Fatalf("seed %d: the order or the base changes the meaning:\n%s\n%s", seed, contrast(wb, b),
					describe(split))
			}
			if again := linkOne(t, opt, fromBTF(t, b)); !bytes.Equal(out, again) {
				ab, _ := btf.Parse(again, base)
				t.Fatalf("seed %d: linking again changes the result:\n%s", seed, contrast(b, ab))
			}
			for p := range likeBase(split) {
				if x, _ := split.ByID(p[0]); p[0] >= split.StartID && !isDeclaration(x) {
					if y, _ := split.ByID(p[1]); isDeclaration(y) {
						resolved++
					}
				}
			}
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		}
	}
	if resolved < runs/2 {
		t.Errorf("only %d definitions of tags that a base declares", resolved)
	}
}

// joined concatenates blobs that have no base into one blob.
func joined(t *testing.T, base *btf.Blob, parts [][]byte) *btf.Blob {
	out := btf.NewBuilder(nil, base, nil)
	for _, data := range parts {
		b := must.Get(btf.Parse(data, nil))(t)
		first := out.NextID()
		for i := range b.Types {
			out.Blob.Copy(b, &b.Types[i],
				func(off uint32) uint32 { s, _ := b.Name(off); return out.Name(s) },
				func(id uint32) uint32 {
					if id != 0 {
						id += first - 1
					}
					return id
				})
		}
	}
	return out.Finish()
}

// TestSplitAgain reads split BTF with its base, and links it on this base again.
func TestSplitAgain(t *testing.T) {
	for seed := range seeds(50) {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(6), 2+r.Intn(5))
		low, high := *o, *o
		low.Units, high.Units = o.Units[:1], o.Units[1:]
		base := must.Get(btf.Parse(linkOne(t, Options{}, &low), nil))(t)
		opt := Options{Base: on(t, base)}
		out := linkOne(t, opt, &high)
		b := must.Get(btf.Parse(out, base))(t)
		if again := linkOne(t, opt, fromBTF(t, b)); !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, base)
			t.Fatalf("seed %d: linking again changes the result:\n%s", seed, contrast(b, ab))
		}
	}
}

func TestEveryBaseTypeIsFound(t *testing.T) {
	base := kernelBTF(t)
	out := linkOne(t, Options{Base: on(t, base)}, fromBTF(t, kernelBTF(t)))
	b := must.Get(btf.Parse(out, base))(t)
	if len(b.Types) != 0 {
		t.Errorf("%d types are not found in the base, the first: %s", len(b.Types),
			spell(b, b.StartID, 3))
	}
}
