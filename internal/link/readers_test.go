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

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

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

// TestCompiled links BTF that gcc makes from C, and reads the result with another reader.
func TestCompiled(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := t.TempDir()
	var inputs []*object.Object
	for i, src := range []string{unitA, unitB} {
		c := filepath.Join(dir, fmt.Sprintf("%d.c", i))
		must.OK(t, os.WriteFile(c, []byte(src), 0o666))
		if exec.Command("gcc", "-gbtf", "-O1", "-c", "-o", c+".o", c).Run() != nil {
			t.Skip("SKIPPED: gcc has no -gbtf")
		}
		o := must.Get(object.ReadFile(c+".o", nil))(t)
		inputs = append(inputs, o)
	}
	out := linkOne(t, Options{}, inputs...)
	if swapped := linkOne(t, Options{}, inputs[1], inputs[0]); !bytes.Equal(out, swapped) {
		t.Error("the order of the files matters")
	}
	spec, err := cilium.LoadSpecFromReader(bytes.NewReader(out))
	must.OK(t, err)
	var list *cilium.Struct
	must.OK(t, spec.TypeByName("list", &list))
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

// FuzzLink links arbitrary BTF, then links the result again, first without a base, then with itself
// as the base. Linking again without a base must not change the result.
func FuzzLink(f *testing.F) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		res := must.Get(Link([]*object.Object{randomUnits(r, 1+r.Intn(4), 1+r.Intn(4))}, Options{}))(f)
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
		must.OK(t, err)
		out, err := btf.Parse(res.BTF, nil)
		must.OK(t, err)
		if o, err = object.FromBTF(object.Target{}, out); err != nil {
			t.Fatal(err)
		}
		again, err := Link([]*object.Object{o}, Options{})
		must.OK(t, err)
		if !bytes.Equal(res.BTF, again.BTF) {
			ab, _ := btf.Parse(again.BTF, nil)
			t.Fatalf("linking again changes the result: %s", contrast(out, ab))
		}
		must.Get(Link([]*object.Object{o}, Options{Base: on(t, out)}))(t)
	})
}
