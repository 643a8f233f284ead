package diff

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// randomSet makes a kernel and modules. All sets that are made with the same seed have the same
// kernel, except that its struct "big" has the size that is given.
func randomSet(seed uint64, size uint32, modules []string, rnd *rand.Rand) Set {
	k := btf.NewBuilder(nil, nil, nil)
	i := k.Int("int", 4, btf.IntSigned, 0)
	k.Int("long", 8, btf.IntSigned, 0)
	big := k.Composite(btf.KindStruct, "big", size, false, btf.Member{NameOff: k.Name("x"), Type: i})
	k.Ref(btf.KindPtr, "", big)
	fixed := rand.New(rand.NewPCG(seed, seed))
	for n := range 20 {
		k.Composite(btf.KindStruct, fmt.Sprint("k", n), 8, false, btf.Member{NameOff: k.Name("m"),
			Type: 1 + fixed.Uint32N(k.NextID()-1)})
	}
	s := Set{Kernel: k.Finish(), Modules: map[string]*btf.Blob{}}
	for _, name := range modules {
		m := btf.NewBuilder(nil, s.Kernel, nil)
		for n := range 1 + rnd.IntN(5) {
			m.Composite(btf.KindStruct, fmt.Sprint("m", n), 8, false, btf.Member{NameOff: m.Name("m"),
				Type: 1 + rnd.Uint32N(m.NextID()-1), Offset: 8 * rnd.Uint32N(2)})
		}
		if rnd.IntN(2) == 0 {
			m.Ref(btf.KindTypedef, "big_t", big) // the same in each module that has it
		}
		s.Modules[name] = m.Finish()
	}
	return s
}

// TestSets: CompareSets finds in each module what Compare finds in two modules.
func TestSets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	classes := map[Class]int{}
	for round := range uint64(200) {
		a := randomSet(round, 8, []string{"one", "two", "three", "old"}, rnd)
		b := randomSet(round, 8+uint32(rnd.IntN(2)), []string{"one", "two", "new"}, rnd)
		b.Modules["three"] = onto(t, a.Modules["three"], b.Kernel)
		for _, opts := range []Options{{}, {Indirect: true}} {
			r := CompareSets(a, b, opts)
			list, s := Compare(Side{a.Kernel}, Side{b.Kernel}, opts)
			if fmt.Sprint(list, s) != fmt.Sprint(r.Differences, r.Summary) {
				t.Fatalf("kernels: %v %v\nwant %v %v", r.Differences, r.Summary, list, s)
			}
			found := map[string]Module{}
			for _, m := range r.Modules {
				classes[m.Class]++
				found[m.Name] = m
			}
			if found["old"].Class != OnlyA || found["new"].Class != OnlyB {
				t.Fatalf("%v", found)
			}
			for _, name := range []string{"one", "two", "three"} {
				_, s := Compare(Side{a.Modules[name]}, Side{b.Modules[name]}, opts)
				if m := found[name]; s.Same() != (m.Class == "") ||
					m.Class != "" && m.Summary.String() != s.String() {
					t.Fatalf("%s: %v\nwant %v", name, m.Summary, s)
				}
			}
		}
	}
	if len(classes) != 4 || classes[Differs] < 100 || classes[Indirect] < 20 {
		t.Error(classes)
	}
}

// onto returns a copy of split BTF on a kernel with the same ids.
func onto(t *testing.T, b, kernel *btf.Blob) *btf.Blob {
	t.Helper()
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	out := must.Get(btf.Parse(data, kernel))(t)
	return out
}
