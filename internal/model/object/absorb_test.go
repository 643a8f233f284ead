package object

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func newAbsorber() (*absorber, *Merger) {
	m := NewMerger()
	return &absorber{set: m.set, jobs: 2}, m
}

// TestAbsorb passes many objects to one absorber, which must absorb all of them except those with
// pinned stubs. The result must equal the Merge of the same objects, read the plain way.
func TestAbsorb(t *testing.T) {
	taken := 0
	for first := range uint64(20) {
		a, m := newAbsorber()
		var objects []*Object
		for seed := first * 10; seed < first*10+10; seed++ {
			data := write(t, randomObject(seed))
			o := must.Get(read(data))(t)
			a.file = append(a.file[:0], data...)
			s, ok := must.Get2(a.take("object"))(t)
			if pinned := slices.ContainsFunc(o.Graph.Nodes,
				func(n types.Node) bool { return n.Kind == types.KindStub && n.Size == 1 }); ok == pinned {
				t.Fatalf("object %d: with pinned stubs: %v, absorbed: %v", seed, pinned, ok)
			}
			if !ok {
				continue
			}
			taken++
			if s != o.claims() {
				t.Fatalf("object %d says %+v, was read as %+v", seed, s, o.claims())
			}
			must.OK(t, m.agree("object", s))
			objects = append(objects, o)
		}
		for id := range m.set.g.Nodes { // each has the hash of its content
			g := m.set.g
			if n := g.Nodes[id]; id != 0 && g.Add(n, slices.Clone(g.ElemsOf(&n))) != types.ID(id) {
				t.Fatalf("%v %q has content that doesn't match its hash", n.Kind, m.set.g.Name(&n))
			}
		}
		if len(objects) == 0 {
			continue
		}
		merged := must.Get(Merge(objects...))(t)
		if !bytes.Equal(write(t, m.Object()), write(t, merged)) {
			t.Fatalf("objects from %d on are merged differently than by Merge", first*10)
		}
	}
	if taken < 50 {
		t.Errorf("only %d objects were absorbed", taken)
	}
}

// checkAbsorbed checks that the plain way reads from a file exactly what was absorbed.
func checkAbsorbed(t *testing.T, data []byte) (ok bool) {
	t.Helper()
	a, m := newAbsorber()
	a.file = bytes.Clone(data)
	says, ok, err := a.take("object")
	if err != nil || !ok {
		return false
	}
	o, err := read(data)
	if err != nil {
		t.Fatalf("absorbed, but Read says: %v", err)
	}
	merged, err := Merge(o)
	must.OK(t, err)
	want, err := Write(merged, 1)
	if err != nil {
		return true // a limit of BTF
	}
	must.OK(t, m.agree("object", says))
	if !bytes.Equal(write(t, m.Object()), want) {
		t.Fatal("the absorbed object differs from the one that Read reads")
	}
	return true
}

// TestAbsorbDamaged changes words and bytes of good objects.
func TestAbsorbDamaged(t *testing.T) {
	taken := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		o := randomObject(seed)
		records, units := sections(t, o)
		for range 400 {
			records, units := bytes.Clone(records), bytes.Clone(units)
			switch r.IntN(4) {
			case 0:
				units[r.IntN(len(units))] = byte(r.Uint32())
			case 1:
				records[r.IntN(len(records))] ^= 1 << r.IntN(8)
			default: // a number becomes another number of the file
				at, from := r.IntN(len(records)/4)*4, r.IntN(len(records)/4)*4
				binary.LittleEndian.PutUint32(records[at:], binary.LittleEndian.Uint32(records[from:]))
			}
			if checkAbsorbed(t, assemble(t, o.Target, records, units)) {
				taken++
			}
		}
	}
	if taken < 400 {
		t.Errorf("%d damaged objects were absorbed, too few for this test", taken)
	}
}

func FuzzAbsorb(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(write(f, randomObject(seed)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAbsorbed(t, data) })
}
