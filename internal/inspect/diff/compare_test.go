package diff

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const runningKernel = "/sys/kernel/btf/vmlinux"

// kernel parses the running kernel's BTF, or skips the test.
func kernel(t testing.TB) *btf.Blob {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	b, err := btf.Parse(data, nil)
	must.OK(t, err)
	return b
}

// shuffled returns the types of b in a different order. It repeats some types; copies is the number
// of repeated types.
func shuffled(b *btf.Blob, rnd *rand.Rand, copies int) *btf.Blob {
	n := len(b.Types)
	perm := rnd.Perm(n)
	at := make([]uint32, n) // the new index of each type
	for to, from := range perm {
		at[from] = uint32(to)
	}
	id := func(old uint32) uint32 {
		if old < b.StartID || old >= b.EndID() {
			return old
		}
		return b.StartID + at[old-b.StartID]
	}
	out := *b
	out.Types = make([]btf.Type, n)
	for from := range b.Types {
		t := b.Types[from]
		if t.Kind.HasType() {
			t.SizeOrType = id(t.SizeOrType)
		}
		out.Types[at[from]] = t
	}
	for range copies {
		out.Types = append(out.Types, out.Types[rnd.IntN(n)])
	}
	out.Members, out.Params = slices.Clone(b.Members), slices.Clone(b.Params)
	out.Secinfos, out.Arrays = slices.Clone(b.Secinfos), slices.Clone(b.Arrays)
	out.Words, out.Sites = slices.Clone(b.Words), slices.Clone(b.Sites)
	for i := range out.Members {
		out.Members[i].Type = id(out.Members[i].Type)
	}
	for i := range out.Params {
		out.Params[i].Type = id(out.Params[i].Type)
	}
	for i := range out.Secinfos {
		out.Secinfos[i].Type = id(out.Secinfos[i].Type)
	}
	for i := range out.Arrays {
		out.Arrays[i].Elem, out.Arrays[i].Index = id(out.Arrays[i].Elem), id(out.Arrays[i].Index)
	}
	for i := range out.Sites {
		out.Sites[i].Func, out.Sites[i].LocProto = id(out.Sites[i].Func), id(out.Sites[i].LocProto)
	}
	for _, t := range b.Types {
		if t.Kind == btf.KindLocProto {
			for i, param := range b.WordsOf(&t) {
				out.Words[t.First+uint32(i)] = id(param)
			}
		}
	}
	return &out
}

// equal reports whether two blobs have equal content.
func equal(a, b *btf.Blob) bool {
	_, s := Compare(Side{a}, Side{b}, Options{})
	return s.Same()
}

func TestOrderDoesNotMatter(t *testing.T) {
	b := kernel(t)
	rnd := rand.New(rand.NewPCG(1, 1))
	d, s := Compare(Side{b}, Side{shuffled(b, rnd, 1000)}, Options{})
	if !s.Same() || len(d) > 0 || s.Equal < len(b.Types)/3 {
		t.Fatal(s, d)
	}
	if s.DuplicatesB < 1000 || s.DuplicatesA > 0 {
		t.Errorf("%d and %d duplicates, want 0 and at least 1000", s.DuplicatesA, s.DuplicatesB)
	}
}

// TestOneChange changes one member of one struct that many types refer to. Only the struct is
// listed; the types that refer to it are counted.
func TestOneChange(t *testing.T) {
	b := kernel(t)
	changed := shuffled(b, rand.New(rand.NewPCG(2, 2)), 0)
	for i := range changed.Types {
		x := &changed.Types[i]
		if x.Kind == btf.KindStruct && changed.TypeName(x) == "list_head" {
			changed.Members[x.First+1].Offset += 8
		}
	}
	d, s := Compare(Side{b}, Side{changed}, Options{})
	if len(d) != 1 || d[0].String() != "differs: struct list_head: member prev: offset 8 vs 9" {
		t.Errorf("%d differences, the first: %v", len(d), d[:min(3, len(d))])
	}
	if s.Differs != 1 || s.Indirect < 1000 || s.OnlyA+s.OnlyB+s.Forward > 0 {
		t.Error(s)
	}
	all, s2 := Compare(Side{b}, Side{changed}, Options{Indirect: true})
	if s2.String() != s.String() || len(all) != 1+s.Indirect {
		t.Errorf("%d differences with the indirect ones, want %d", len(all), 1+s.Indirect)
	}
}

// randomGraph makes a blob of n types with few names, so that contents repeat and form cycles.
func randomGraph(rnd *rand.Rand, n uint32) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	any := func() uint32 { return rnd.Uint32N(n + 2) } // sometimes an id that does not exist
	for b.NextID() <= n {
		switch rnd.IntN(11) {
		case 0:
			b.Int("int", 4, 0, 0)
		case 1, 2:
			b.Ref(btf.KindPtr, "", any())
		case 3:
			b.Ref(btf.KindConst, "", any())
		case 4, 5, 6:
			name := []string{"", "s", "t"}[rnd.IntN(3)]
			b.Composite(btf.KindStruct, name, 8, false, btf.Member{NameOff: b.Name("m"), Type: any()},
				btf.Member{NameOff: b.Name("n"), Type: any()})
		case 7:
			b.FuncProto(any(), btf.Param{NameOff: b.Name("p"), Type: any()})
		case 8:
			b.Func("f", any(), btf.LinkageStatic)
			b.LocParam(8, rnd.Uint32N(64), rnd.Uint32N(3))
		case 9:
			b.LocProto(any(), any())
		case 10:
			b.Locsec("inline.text", btf.Site{Func: any(), LocProto: any(), Offset: rnd.Uint32N(3)})
		}
	}
	return b.Finish()
}

// TestLongChain compares long chains of pointers that differ only at the end, the worst case for a
// naive refinement.
func TestLongChain(t *testing.T) {
	build := func(n int, end uint32) *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		b.Int("int", 4, 0, 0)
		b.Ref(btf.KindPtr, "", end)
		for range n {
			b.Ref(btf.KindPtr, "", b.NextID()-1)
		}
		b.Ref(btf.KindTypedef, "t", b.NextID()-1)
		return b.Finish()
	}
	if !equal(build(100000, 1), build(100000, 1)) {
		t.Error("equal chains differ")
	}
	for _, other := range []*btf.Blob{build(99999, 1), build(100000, 0)} {
		if equal(build(100000, 1), other) {
			t.Error("different chains are equal")
		}
	}
}

func TestSymmetric(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		a, b := randomGraph(rnd, 10), randomGraph(rnd, 10)
		if rnd.IntN(2) == 0 {
			b = shuffled(a, rnd, 1)
		}
		checkPair(t, a, b)
	}
}

// checkPair checks what must be true for any two blobs.
func checkPair(t *testing.T, a, b *btf.Blob) {
	d, s := Compare(Side{a}, Side{b}, Options{Indirect: true})
	_, r := Compare(Side{b}, Side{a}, Options{Indirect: true})
	if s.Same() != r.Same() || s.OnlyA != r.OnlyB || s.OnlyB != r.OnlyA || s.Equal != r.Equal {
		t.Fatalf("A with B: %v; B with A: %v", s, r)
	}
	if s.Same() != (len(d) == 0) || len(d) != s.OnlyA+s.OnlyB+s.Differs+s.Forward+s.Indirect {
		t.Fatalf("%d differences, summary %v", len(d), s)
	}
	for _, x := range d {
		if strings.ContainsAny(x.String(), "\n\x00") {
			t.Fatalf("not one line: %q", x)
		}
	}
	follow := 0
	for i := range d {
		follow += d[i].FollowUps
		for _, l := range d[i].Lines() {
			if l.Old == nil && l.New == nil {
				t.Fatalf("an empty line in %v", d[i])
			}
		}
	}
	if follow > s.Indirect {
		t.Fatalf("%d follow-ups, %v", follow, s)
	}
	short, _ := Compare(Side{a}, Side{b}, Options{})
	if !s.Same() && len(short) == 0 {
		t.Fatalf("nothing is listed, but the summary is %v", s)
	}
	if !equal(a, a) || !equal(b, b) {
		t.Fatal("a blob differs from itself")
	}
}

func FuzzCompare(f *testing.F) {
	rnd := rand.New(rand.NewPCG(5, 5))
	enc := func(b *btf.Blob) []byte {
		data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(f)
		return data
	}
	for range 10 {
		a := randomGraph(rnd, 12)
		f.Add(enc(a), enc(shuffled(a, rnd, 2)))
		f.Add(enc(a), enc(randomGraph(rnd, 12)))
	}
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, err := btf.Parse(x, nil)
		if err != nil {
			return
		}
		b, err := btf.Parse(y, nil)
		if err != nil {
			b = a
		}
		checkPair(t, a, b)
		if split, err := btf.Parse(y, a); err == nil {
			Compare(Side{split}, Side{b, a}, Options{Kinds: []btf.Kind{btf.KindPtr, btf.KindStruct}})
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	x, y := kernel(b), kernel(b)
	for b.Loop() {
		if d, s := Compare(Side{x}, Side{y}, Options{}); !s.Same() {
			b.Fatal(d)
		}
	}
}

func BenchmarkCompareDifferent(b *testing.B) {
	x := kernel(b)
	y := shuffled(x, rand.New(rand.NewPCG(6, 6)), 0)
	for i := range y.Types {
		if y.Types[i].Kind == btf.KindStruct && i%50 == 0 {
			y.Types[i].SizeOrType++
		}
	}
	for b.Loop() {
		if _, s := Compare(Side{x}, Side{y}, Options{}); s.Same() {
			b.Fatal(s)
		}
	}
}
