package link

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/object"
)

// blobImages tells for each type of a whether b has a type of equal content, where a forward declaration of a may be any
// type of its tag.
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
		return s1.Kind == btf.KindFwd && (s2.Kind == btf.KindStruct && !s1.KFlag || s2.Kind == btf.KindUnion && s1.KFlag) ||
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
			if err != nil {
				t.Fatal(err)
			}
			blobs, inputs = append(blobs, b), append(inputs, fromBTF(t, b))
		}
		out, err := btf.Parse(linkOne(t, Options{}, inputs...), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blobs {
			for id, ok := range blobImages(b, out) {
				if !ok {
					t.Fatalf("seed %d: type %d is lost\n%s\n\n%s", seed, id, describe(b), describe(out))
				}
			}
		}
	}
}

// TestSplitAgain links split BTF, read with its base, on this base again.
func TestSplitAgain(t *testing.T) {
	for seed := range int64(150) {
		r := rand.New(rand.NewSource(seed))
		o := randomUnits(r, 1+r.Intn(6), 2+r.Intn(5))
		low, high := *o, *o
		low.Units, high.Units = o.Units[:1], o.Units[1:]
		base, err := btf.Parse(linkOne(t, Options{}, &low), nil)
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Bases: []*btf.Blob{base}}
		out := linkOne(t, opt, &high)
		b, err := btf.Parse(out, base)
		if err != nil {
			t.Fatal(err)
		}
		if again := linkOne(t, opt, fromBTF(t, b)); !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, base)
			t.Fatalf("seed %d: linking again changes the result:\n%s", seed, contrast(b, ab))
		}
	}
}

func TestEveryBaseTypeIsFound(t *testing.T) {
	base := kernelBTF(t)
	out := linkOne(t, Options{Bases: []*btf.Blob{base}}, fromBTF(t, kernelBTF(t)))
	b, err := btf.Parse(out, base)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Types) != 0 {
		t.Errorf("%d types are not found in the base, the first: %s", len(b.Types), spell(b, b.StartID, 3))
	}
}

const unitA = `
struct node; enum color { RED, GREEN = -1 };
union u { int a; struct node *n; };
struct list { struct node *first; enum color *c; union u u; unsigned bits : 3, more : 5; };
typedef struct list list_t;
int walk(list_t *l, const struct node *n) { return l->bits + (n != 0); }
`

const unitB = `
enum color { RED, GREEN = -1 };
struct node { struct node *next; enum color c; };
struct list; typedef struct list list_t;
int size(list_t *l, struct node *n) { return n->c; }
static int (*table[3])(list_t *, ...);
int call(list_t *l) { return table[0](l, 1.0); }
`

// TestCompiled links what gcc makes of C, and reads the result with another reader.
func TestCompiled(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	dir := t.TempDir()
	var inputs []*object.Object
	for i, src := range []string{unitA, unitB} {
		c := filepath.Join(dir, fmt.Sprintf("%d.c", i))
		if err := os.WriteFile(c, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(gcc, "-gbtf", "-O1", "-c", "-o", c+".o", c).CombinedOutput(); err != nil {
			t.Skipf("gcc has no -gbtf: %v\n%s", err, out)
		}
		o, err := object.ReadFile(c+".o", nil)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, o)
	}
	out := linkOne(t, Options{}, inputs...)
	if swapped := linkOne(t, Options{}, inputs[1], inputs[0]); !bytes.Equal(out, swapped) {
		t.Error("the order of the files matters")
	}
	spec, err := cilium.LoadSpecFromReader(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	var list *cilium.Struct
	if err := spec.TypeByName("list", &list); err != nil {
		t.Fatal(err)
	}
	node, ok := list.Members[0].Type.(*cilium.Pointer).Target.(*cilium.Struct)
	if !ok || node.Name != "node" || len(node.Members) != 2 {
		t.Errorf("list.first points to %v, want the definition of struct node", list.Members[0].Type)
	}
	color, ok := list.Members[1].Type.(*cilium.Pointer).Target.(*cilium.Enum)
	if !ok || len(color.Values) != 2 {
		t.Errorf("list.c points to %v, want the definition of enum color", list.Members[1].Type)
	}
	if list.Members[4].BitfieldSize != 5 || list.Members[4].Offset != 24*8+3 {
		t.Errorf("list.more is %v", list.Members[4])
	}
	for _, name := range []string{"walk", "size", "call"} {
		var f *cilium.Func
		if err := spec.TypeByName(name, &f); err != nil {
			t.Error(err)
			continue
		}
		p := f.Type.(*cilium.FuncProto).Params[0].Type.(*cilium.Pointer).Target.(*cilium.Typedef)
		if p.Type != list {
			t.Errorf("%s takes %v, want the one struct list", name, p.Type)
		}
	}
}

// FuzzLink links BTF of any content with itself and on itself: it must not fail in other ways than with an error, and
// linking again must not change the result.
func FuzzLink(f *testing.F) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		res, err := Link([]*object.Object{randomUnits(r, 1+r.Intn(4), 1+r.Intn(4))}, Options{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(res.BTF)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := btf.Parse(data, nil)
		if err != nil || len(b.Types) > 2000 {
			return
		}
		o, err := object.FromBTF(object.Target{}, b)
		if err != nil {
			return
		}
		res, err := Link([]*object.Object{o}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := btf.Parse(res.BTF, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o, err = object.FromBTF(object.Target{}, out); err != nil {
			t.Fatal(err)
		}
		again, err := Link([]*object.Object{o}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(res.BTF, again.BTF) {
			ab, _ := btf.Parse(again.BTF, nil)
			t.Fatalf("linking again changes the result: %s", contrast(out, ab))
		}
		if _, err := Link([]*object.Object{o}, Options{Bases: []*btf.Blob{out}}); err != nil {
			t.Fatal(err)
		}
	})
}
