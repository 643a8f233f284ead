package link

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// The result doesn't depend on the order and grouping of the units, and linking the result again
// doesn't change it.

// contrast lists, by name and content, what only one of two results has.
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

func TestRandomUnits(t *testing.T) {
	for seed := range seeds(150) {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(7), 1+r.Intn(6))
		out := linkOne(t, Options{Features: features.Default()}, o)
		b := checkLinked(t, out, nil, o)
		for range 3 {
			parts := must.Get(scatter(r, o))(t)
			if other := linkOne(t, Options{Features: features.Default()}, parts...); !bytes.Equal(out,
				other) {
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

// TestRandomLinked links the results of earlier links, in which tags have several definitions, with
// each other and with units.
func TestRandomLinked(t *testing.T) {
	for seed := range seeds(60) {
		r := rand.New(rand.NewSource(seed))
		var blobs []*btf.Blob
		for range 2 + r.Intn(2) {
			b, err := btf.Parse(linkOne(t, Options{}, randomUnits(r, 1+r.Intn(4), 1+r.Intn(4))), nil)
			must.OK(t, err)
			blobs = append(blobs, b)
		}
		inputs := []*object.Object{randomUnits(r, 4, 2)}
		for _, b := range blobs {
			inputs = append(inputs, fromBTF(t, b))
		}
		m := must.Get(object.Merge(inputs...))(t)
		out := linkOne(t, Options{}, m)
		b := must.Get(btf.Parse(out, nil))(t)
		if checkExact(t, b); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		parts := must.Get(scatter(r, m))(t)
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
