package shared

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// compile returns the types of a C source.
func compile(t *testing.T, src string) *object.Object {
	t.Helper()
	f, err := elf.Open(programtest.Compile(t, src, "gcc", "-g", "-O1", "-c"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	made, err := convert.File(f, convert.Options{Features: features.Default()})
	if err != nil {
		t.Fatal(err)
	}
	o, err := object.Merge(made.Object)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// linkOn links an object against a base, which may be nil.
func linkOn(t *testing.T, below *btf.Blob, o *object.Object) *btf.Blob {
	t.Helper()
	opt := link.Options{Features: features.Default()}
	if below != nil {
		opt.Base = parsed(t, below)
	}
	r, err := link.Link([]*object.Object{o}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, r.BTF, below)
}

func parsed(t *testing.T, b *btf.Blob) base.Base {
	t.Helper()
	p, err := base.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(t *testing.T, data []byte, below *btf.Blob) *btf.Blob {
	t.Helper()
	b, err := btf.Parse(data, below)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// setOf reads modules in the given order.
func setOf(t *testing.T, below *btf.Blob, modules ...*btf.Blob) *Set {
	t.Helper()
	var paths []string
	dir := t.TempDir()
	for i, m := range modules {
		data, err := btf.Encode(m, btf.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.btf", i)))
		if err := os.WriteFile(paths[i], data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(paths, below, 2, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// makeShared makes the shared base of modules. It reads the modules in several orders.
func makeShared(t *testing.T, below *btf.Blob, modules ...*btf.Blob) *btf.Blob {
	t.Helper()
	var first []byte
	for i := range modules {
		order := slices.Concat(modules[i:], modules[:i])
		data, err := setOf(t, below, order...).Write(parsed(t, below), 1)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && !bytes.Equal(data, first) {
			t.Error("the order of the modules changes the result")
		}
		first = data
	}
	b := parse(t, first, below)
	for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
		if v.Rule != "no-types" {
			t.Error(v)
		}
	}
	return b
}

// named returns the names of a blob's own types, in order.
func named(b *btf.Blob) string {
	var list []string
	for i := range b.Types {
		if t := &b.Types[i]; t.NameOff != 0 && t.Kind != btf.KindFunc {
			list = append(list, strings.ToLower(t.Kind.String())+" "+b.TypeName(t))
		}
	}
	return strings.Join(list, ", ")
}

const kernel = `
struct opaque; struct page { int flags; }; struct user { struct opaque *o; struct page *p; };
int vmlinux(struct user *u) { return u->p->flags; }
`

// TestShared makes a shared base of modules, and links the modules again with that base. It checks
// which types are shared and which are left in the modules.
func TestShared(t *testing.T) {
	const bus = "struct page { int flags; }; struct bus { struct page *p; long id; };\n"
	use := func(names ...string) string {
		var s strings.Builder
		for _, n := range names {
			fmt.Fprintf(&s, "int f_%s(struct %s *x) { return sizeof(x); }\n", n, n)
		}
		return s.String()
	}
	for _, c := range []struct {
		name    string
		modules []string
		shared  string
		own     []string // of each module
	}{
		{"a struct in both modules", []string{bus + use("bus"), bus + "struct own { struct bus b; };" +
			use("own")}, "struct bus, int long int", []string{"", "struct own"}},
		{"nothing repeats", []string{"struct a { int i; };" + use("a"),
			"struct b { int i; };" + use("b")}, "", []string{"struct a", "struct b"}},
		{"a struct in the kernel", []string{"struct page { int flags; };" + use("page"),
			"struct page { int flags; };" + use("page")}, "", []string{"", ""}},
		{"a cycle", slices.Repeat([]string{"struct b; struct a { struct b *b; }; " +
			"struct b { struct a *a; };" + use("a")}, 2), "struct a, struct b", []string{"", ""}},
		{"two definitions, each in two modules", []string{
			"struct s { int i; }; struct r { struct s *s; };" + use("r"),
			"struct s { int i; }; struct r { struct s *s; };" + use("r"),
			"struct s { int j; }; struct r { struct s *s; };" + use("r"),
			"struct s { int j; }; struct r { struct s *s; };" + use("r")},
			"struct r, struct r, struct s, struct s", []string{"", "", "", ""}},
		{"a further definition in one module", []string{
			"struct s { int i; }; struct r { struct s *s; };" + use("r"),
			"struct s { int i; }; struct r { struct s *s; };" + use("r"),
			"struct s { int j; }; struct r { struct s *s; };" + use("r")},
			"struct r, struct s", []string{"", "", "struct r, struct s"}},
		{"declared in one, defined in another", []string{
			"struct s; struct r { struct s *s; };" + use("r"),
			"struct s { int i; }; struct r { struct s *s; };" + use("r")},
			"struct r, struct s", []string{"", ""}},
		{"declared only", slices.Repeat([]string{"struct s; struct r { struct s *s; };" + use("r")}, 2),
			"struct r, fwd s", []string{"", ""}},
		{"declared, and two definitions elsewhere", []string{
			"struct s; struct r { struct s *s; };" + use("r"),
			"struct s { int i; }; struct r { struct s *s; };" + use("r"),
			"struct s { int i; }; struct r { struct s *s; };" + use("r"),
			"struct s { int j; }; struct r { struct s *s; };" + use("r")},
			"", []string{"struct r, fwd s", "struct r, struct s", "struct r, struct s",
				"struct r, struct s"}},
		{"the kernel declares what one module defines", []string{
			"struct opaque; struct r { struct opaque *o; };" + use("r"),
			"struct opaque; struct r { struct opaque *o; };" + use("r"),
			"struct opaque { int i; }; struct r { struct opaque *o; };" + use("r")},
			"", []string{"struct r", "struct r", "struct opaque, struct r"}},
		{"the kernel defines it differently", slices.Repeat([]string{
			"struct page { long other; }; struct r { struct page *p; };" + use("r")}, 2),
			"int long int, struct page, struct r", []string{"", ""}},
		{"typedefs, enums, unions", slices.Repeat([]string{"enum e { A, B };" +
			"typedef unsigned short u16; union u { u16 x; enum e e; }; struct s { union u u; };" +
			use("s")}, 2),
			"enum e, struct s, int short unsigned int, typedef u16, union u", []string{"", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			below := linkOn(t, nil, compile(t, kernel))
			var objects []*object.Object
			var alone []*btf.Blob
			for _, src := range c.modules {
				objects = append(objects, compile(t, src))
				alone = append(alone, linkOn(t, below, objects[len(objects)-1]))
			}
			b := makeShared(t, below, alone...)
			if got := named(b); !sameNames(got, c.shared) {
				t.Errorf("shared: %s, want %s", got, c.shared)
			}
			for i, o := range objects {
				m := linkOn(t, b, o)
				if got := named(m); !sameNames(got, c.own[i]) {
					t.Errorf("module %d: %s, want %s", i, got, c.own[i])
				}
				all := names(m)
				if gone := lost(alone[i], m, func(k string) []uint32 { return all[k] }); gone != nil {
					t.Errorf("module %d lost %q", i, gone)
				}
				onlyOwn := diff.Options{OwnOnly: true}
				for k := btf.KindInt; k < btf.NumKinds; k++ {
					onlyOwn.Kinds = append(onlyOwn.Kinds, k)
				}
				ofBases := diff.Side{b, b.Base}
				if _, s := diff.Compare(diff.Side{m}, ofBases, onlyOwn); s.Equal+s.DuplicatesA > 0 {
					t.Errorf("module %d: %d types are in a base, %d repeat", i, s.Equal, s.DuplicatesA)
				}
			}
		})
	}
}

// sameNames compares lists of names whose order doesn't matter.
func sameNames(a, b string) bool {
	x, y := strings.Split(a, ", "), strings.Split(b, ", ")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
