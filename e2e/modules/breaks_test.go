package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const kernelSource = `
enum state { DOWN, UP = 3 };
struct list { struct list *next, *prev; };
struct opaque;
struct device { struct list list; enum state state; struct opaque *private; };
struct twin { int i; };
int register_device(struct device *d) { return d->state; }
int first_twin(struct twin *t) { return t->i; }
`

// moduleSource has a struct twin that differs from the kernel's struct twin, a struct that the
// kernel only declares, a struct that only a local variable uses, and a function that pahole leaves
// out.
const moduleSource = `
enum state { DOWN, UP = 3 };
enum { LIMIT = 12 };
struct list { struct list *next, *prev; };
struct opaque { long id; };
struct device { struct list list; enum state state; struct opaque *private; };
struct twin { long l; };
struct disk { struct device device; struct twin *twin; int heads; };
struct zone { int number; };
__attribute__((section(".data..percpu"))) int in_flight = 1;
long probe(struct disk *disk, int n)
{ struct zone z = { n }; return disk->twin->l + z.number + LIMIT + disk->device.private->id; }
union address { int words[7]; };
int in_memory(struct disk *d, union address a, int n) { return d->heads + a.words[n]; }
`

// TestBreaks damages the split BTF of a module, and checks that the comparison reports the damage.
func TestBreaks(t *testing.T) {
	harness.Need(t, "gcc", "pahole")
	dir := t.TempDir()
	kernel, module := filepath.Join(dir, "kernel.o"), filepath.Join(dir, "module.ko")
	for path, source := range map[string]string{kernel: kernelSource, module: moduleSource} {
		harness.WriteFile(t, path+".c", source)
		harness.MustRun(t, "", "gcc", "-g", "-O1", "-c", "-o", path, path+".c")
	}
	base := filepath.Join(dir, "kernel.btf")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "-o", base, kernel)
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "modules", "-q", "--base", base, "-o", dir,
		"--skipped-dir", dir, module)
	split, whole := filepath.Join(dir, "module.btf"), oracle.Pahole(t, module)

	blob := func(path string, base *btf.Blob) *btf.Blob {
		b := must.Get(btf.Parse(harness.ReadFile(t, path), base))(t)
		return b
	}
	for _, c := range []struct {
		what  string
		wreck func(b, base *btf.Blob)
		want  []string
	}{
		{"nothing", func(b, base *btf.Blob) {}, nil},
		{"the last type is dropped", func(b, base *btf.Blob) { b.Types = b.Types[:len(b.Types)-1] },
			[]string{"struct zone only oracle"}},
		{"a member has another offset", func(b, base *btf.Blob) {
			b.Members[find(t, b, "disk").First+2].Offset += 32
		}, []string{"struct disk differs"}},
		{"a member has another type", func(b, base *btf.Blob) {
			member := &b.Members[find(t, b, "disk").First+2]
			member.Type = b.Params[prototype(b, find(t, b, "probe")).First].Type
		}, []string{"struct disk differs"}},
		{"a constant has another value", func(b, base *btf.Blob) {
			b.Enums[find(t, b, "").First].Value++
		}, []string{"anonymous  only oracle", "anonymous  only ours"}},
		{"a function returns another type", func(b, base *btf.Blob) {
			p := prototype(b, find(t, b, "probe"))
			p.SizeOrType = b.Params[p.First].Type
		}, []string{"function probe differs"}},
		{"a pointer leads to the kernel's struct of that name", func(b, base *btf.Blob) {
			pointer := b.Members[find(t, b, "disk").First+1].Type
			b.Types[pointer-b.StartID].SizeOrType = idOf(t, base, "twin")
		}, []string{"struct disk leads elsewhere", "struct disk leads elsewhere"}},
		{"a variable has another name", func(b, base *btf.Blob) {
			find(t, b, "in_flight").NameOff = find(t, b, "zone").NameOff
		}, []string{"variable in_flight only oracle", "variable zone only ours",
			"section .data..percpu differs"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			kernelBTF := blob(base, nil)
			broken := blob(split, kernelBTF)
			c.wreck(broken, kernelBTF)
			data := must.Get(btf.Encode(broken, btf.EncodeOptions{}))(t)
			path := filepath.Join(t.TempDir(), "broken.btf")
			must.OK(t, os.WriteFile(path, data, 0o666))
			b := must.Get(readBase(base))(t)
			r := must.Get(flatten(b, path, whole.Path))(t)
			oracle.Explain(t, r.Result, r.contents, module, filepath.Join(dir, "module.skipped"))
			var have []string
			for _, d := range r.Unexplained() {
				have = append(have, string(d.Class)+" "+d.Name+" "+string(d.Kind))
				t.Log(have[len(have)-1], d.Ours, d.Oracle)
			}
			if strings.Join(have, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("differences %q, want %q", have, c.want)
			}
			if len(r.declared) != 1 {
				t.Errorf("%d tags that the base only declares, want 1: opaque", len(r.declared))
			}
		})
	}
}

// find returns the type with the given name. If the name is "", it returns the first anonymous
// enum.
func find(t *testing.T, b *btf.Blob, name string) *btf.Type {
	t.Helper()
	for i := range b.Types {
		x := &b.Types[i]
		if b.TypeName(x) == name && (name != "" || x.Kind == btf.KindEnum) {
			return x
		}
	}
	t.Fatalf("no type %q", name)
	return nil
}

func idOf(t *testing.T, b *btf.Blob, name string) uint32 {
	t.Helper()
	for i := range b.Types {
		if b.TypeName(&b.Types[i]) == name {
			return b.StartID + uint32(i)
		}
	}
	t.Fatalf("no type %q", name)
	return 0
}

// prototype returns the prototype of a function.
func prototype(b *btf.Blob, f *btf.Type) *btf.Type { return &b.Types[f.SizeOrType-b.StartID] }
