package object

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// checkShapes compares the shapes of types hashed in place with those in a graph. It reports
// whether the types were hashed in place.
func checkShapes(t *testing.T, b *btf.Blob) bool {
	t.Helper()
	got, ok := hashedShapes(b)
	if !ok {
		return false
	}
	want, err := graphShapes([]*btf.Blob{b})
	if err != nil {
		t.Fatalf("types are hashed in place, but not accepted: %v", err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d shapes, want %d", len(got), len(want))
	}
	for id := range got {
		if got[id] != want[id] {
			t.Errorf("[%d]: %+v, want %+v", id, got[id], want[id])
		}
	}
	return true
}

// TestTypeShapes: types hashed in place have the same shapes as in a graph, even if a tag has
// several definitions.
func TestTypeShapes(t *testing.T) {
	cases := map[string]*btf.Blob{"two definitions": two(false, 8), "a ring": ring(6, 0)}
	if b, err := btf.ReadOne("/sys/kernel/btf/vmlinux", nil); err == nil {
		cases["running kernel"] = b
	}
	for name, b := range cases {
		if !checkShapes(t, b) {
			t.Errorf("%s: not hashed in place", name)
		}
	}
	hashed, random := 0, uint64(100)
	for seed := range random {
		data, _ := sections(t, randomObject(seed))
		b := must.Get(btf.Parse(data, nil))(t)
		if checkShapes(t, b) {
			hashed++
		}
	}
	if hashed < int(random/2) {
		t.Errorf("only %d of %d objects were hashed in place", hashed, random)
	}
	base := two(false, 8)
	b := btf.NewBuilder(nil, base, nil)
	b.Ref(btf.KindPtr, "", 1)
	if list, err := TypeShapes(Chain(b.Finish())...); err != nil || len(list) != int(base.EndID())+1 {
		t.Errorf("split BTF: %d shapes, %v", len(list), err)
	}
}
