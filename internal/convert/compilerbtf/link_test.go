package compilerbtf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link/compiledtest"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// preamble is the beginning of every source in program.
const preamble = compiledtest.Preamble + `
#define NOINLINE __attribute__((noinline, noclone, used))
struct shared { int a; struct inner *p; };
typedef struct shared shared_t;
`

// program has the sources of a program with several files. Some static functions and variables in
// different files have the same name but different types. In some files, no static function or
// variable has a symbol.
var program = map[string]string{
	"first": `
		struct inner { char c; };
		static PERCPU int state;
		static NOINLINE int helper(int a) { return a + state; }
		static int inlined(shared_t *s) { return s->a; }
		int first(shared_t *s) { return helper(3) + inlined(s); }`,
	"second": `
		union either { int i; struct inner *p; };
		static PERCPU long state; PERCPU int counter;
		static NOINLINE long helper(union either *e) { return e->i + state; }
		long second(union either *e) { return helper(e) + counter; }`,
	"third": `
		int third(shared_t *s, int b) { return s->a + b; }`,
	"fourth": `
		static NOINLINE int inlined(struct shared *s, long other) { return s->a + other; }
		long first(shared_t *); long fourth(shared_t *s) { return inlined(s, 4); }`,
}

// files lists the program's objects with DWARF ("d") or with BTF ("b"), in order.
func files(road string) string {
	var list []string
	for _, name := range []string{"first", "second", "third", "fourth"} {
		list = append(list, name+"."+road+".o")
	}
	return strings.Join(list, " ")
}

// build compiles the program twice, with DWARF and with BTF, and links each set of objects into its
// own executable: linked.d has DWARF, and linked.b has BTF.
func (w workspace) build(flags string) {
	w.Helper()
	for name, source := range program {
		w.compile(name, preamble+source, flags)
	}
	w.Write("none.c", "_Decimal64 none;")
	w.run("gcc -gbtf -c -o none.o none.c")
	w.Write("empty.s", ".file \"empty.s\"\n.text\nlocal: nop\n.section .note.GNU-stack\n")
	w.run("gcc -c -o empty.o empty.s")
	for _, road := range []string{"d", "b"} {
		w.Link("linked."+road, strings.Fields("empty.o "+files(road))...)
	}
}

// objects converts files from BTF or from DWARF, as their names say.
func (w workspace) objects(names string) (list []*object.Object) {
	w.Helper()
	for _, name := range strings.Fields(names) {
		list = append(list, w.convert(name, strings.HasSuffix(name, ".b.o")))
	}
	return list
}

// TestRoads: objects from DWARF, objects from BTF, a mixture of both, and the linked file all give
// the same BTF.
func TestRoads(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2"} {
		for _, set := range []features.Set{features.Default(),
			features.Default().With(features.GlobalVar)} {
			w := newWorkspace(t)
			w.Features = set
			w.build(flags)
			known := w.Facts("linked.d")
			want, res := w.link(known, w.objects(files("d"))...)
			if len(want.Types) < 20 {
				t.Fatalf("%d types", len(want.Types))
			}
			for _, names := range []string{files("b"),
				"first.d.o second.b.o third.d.o fourth.b.o", "first.b.o second.d.o third.b.o fourth.d.o"} {
				got, gotRes := w.link(known, w.objects(names)...)
				list := differences(want, got)
				if flags == "-O2" && strings.Contains(names, "first.b.o") {
					// BTF doesn't describe first.c's function called inlined, because it has no
					// code. DWARF says that its prototype differs from the one in fourth.c.
					list = slices.DeleteFunc(list,
						func(d string) bool { return d == "only in B: func inlined" })
				} else if !bytes.Equal(res.BTF, gotRes.BTF) {
					t.Errorf("%s: %s give different bytes", flags, names)
				}
				if len(list) > 0 {
					t.Errorf("%s: %s: %q", flags, names, list)
				}
			}
			_, apart := w.link(known, w.objects(files("b"))...)
			_, linked := w.link(w.Facts("linked.b"), w.convert("linked.b", true))
			if !bytes.Equal(apart.BTF, linked.BTF) {
				t.Errorf("%s: the linked file gives different bytes than its objects", flags)
			}
		}
	}
}

// TestOrder: the order of the objects and the number of threads make no difference.
func TestOrder(t *testing.T) {
	w := newWorkspace(t)
	w.build("-O2")
	known := w.Facts("linked.b")
	list := w.objects(files("b"))
	_, want := w.link(known, list...)
	slices.Reverse(list)
	if _, got := w.link(known, list...); !bytes.Equal(got.BTF, want.BTF) {
		t.Error("the order of the objects changes the BTF")
	}
	one, _ := w.convertWith("linked.b", true, convert.Options{Features: w.Features, Jobs: 1})
	for _, jobs := range []int{2, 3, 8} {
		several, _ := w.convertWith("linked.b", true, convert.Options{Features: w.Features, Jobs: jobs})
		if !bytes.Equal(w.bytes(one), w.bytes(several)) {
			t.Errorf("%d threads change the BTF", jobs)
		}
	}
}

// TestUnits: each unit of the linked file gives the same object as the unit's object file.
func TestUnits(t *testing.T) {
	w := newWorkspace(t)
	w.build("-O2")
	units := make([][]byte, 4)
	options := convert.Options{Features: w.Features, Jobs: 2}
	must.OK(t, EachUnit(w.Open("linked.b"), options, nil, func(number int, o *object.Object) error {
		units[number] = w.bytes(o)
		return nil
	}))
	for i, o := range w.objects(files("b")) {
		if !bytes.Equal(units[i], w.bytes(o)) {
			t.Errorf("unit %d gives a different object than its object file", i)
		}
	}
}

// TestPlainly: types that are hashed in place give the same result as types that are all added to
// the graph, even if a unit defines a tag in several ways.
func TestPlainly(t *testing.T) {
	w := newWorkspace(t)
	w.build("-O2")
	w.compile("several", `struct t { int a; struct t *next; }; struct t outer;
		void *f(void) {
			struct t { char c; struct t *next; } x = { 1 }; struct t *p = &x;
			asm volatile("" :: "r"(p)); return outer.next;
		}`, "-O0")
	if o := w.convert("several.b.o", true); len(o.Units[0].Items) != 3 {
		t.Errorf("units %v, want a function and two definitions of t", units(o))
	}
	w.Features = w.Features.With(features.GlobalVar)
	for _, name := range append(strings.Fields(files("b")), "linked.b", "several.b.o") {
		plain := must.Get(file(w.Open(name), &work{opt: &convert.Options{Features: w.Features, Jobs: 2},
			plainly: true}))(t)
		if got := w.convert(name, true); !bytes.Equal(w.bytes(got), w.bytes(plain.Object)) {
			t.Errorf("%s: %v\nwant %v", name, units(got), units(plain.Object))
		}
	}
}

// TestShapers: conversions that share types give the same results as separate conversions.
func TestShapers(t *testing.T) {
	w := newWorkspace(t)
	w.build("-O2")
	names := strings.Fields(files("b") + " " + files("b"))
	want, err := object.Merge(w.objects(strings.Join(names, " "))...)
	must.OK(t, err)
	opt := convert.Options{Features: w.Features, Jobs: 1, Shared: &convert.Shared{Joined: true}}
	made := make([]*object.Object, len(names))
	parallel.Do(3, len(names), func(i int) {
		f, err := elf.Open(w.Path(names[i]))
		if err == nil {
			defer f.Close()
			var one *convert.Result
			if one, err = File(f, opt); err == nil {
				made[i] = one.Object
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	got, err := object.Union(names, made)
	if err != nil || !bytes.Equal(w.bytes(got), w.bytes(want)) {
		t.Errorf("%v, %v\nwant %v", err, units(got), units(want))
	}
}

// TestConcatenated converts files with several blobs, which begin at various offsets.
func TestConcatenated(t *testing.T) {
	w := newWorkspace(t)
	w.build("-O2")
	want := must.Get(object.Merge(w.objects(files("b"))...))(t)
	w.run("ld -r -o all.o none.o " + files("b") + " none.o -z muldefs")
	if none := w.convert("none.o", true); len(none.Units) != 0 {
		t.Errorf("%d units without types", len(none.Units))
	}
	w.run("gcc -c -o other.o empty.s")
	w.run("ld -r -o more.o empty.o all.o other.o")
	w.run("objcopy --compress-debug-sections=zlib more.o zipped.o")
	for _, name := range []string{"all.o", "more.o", "zipped.o"} {
		f := w.Open(name)
		data, err := btf.Section(f, btf.SectionTypes)
		must.OK(t, err)
		parts, err := split(data)
		if err != nil || len(parts) != 6 {
			t.Fatalf("%s: %d blobs, %v", name, len(parts), err)
		}
		if !slices.ContainsFunc(parts, func(p part) bool { return p.off%4 != 0 }) {
			t.Errorf("%s: no blob is at an offset that is not a multiple of 4", name)
		}
		if !bytes.Equal(w.bytes(w.convert(name, true)), w.bytes(want)) {
			t.Errorf("%s gives different units than its parts:\n%v\n%v", name,
				units(w.convert(name, true)), units(want))
		}
	}
}

// TestEdits: an edit of a function's body doesn't change the object, as long as the edit introduces
// no new named type.
func TestEdits(t *testing.T) {
	w := newWorkspace(t)
	const source = preamble + `
		struct inner { char c; long l; };
		static inline __attribute__((always_inline)) int in_header(shared_t *s) { return s->a; }
		static NOINLINE int helper(struct inner *i) { return i->c; }
		int f(shared_t *s) { struct inner local = { 1 }; %s return helper(&local); }`
	w.Write("a.c", fmt.Sprintf(source, ""))
	for _, flags := range []string{"-O0", "-O2"} {
		var want []byte
		for _, body := range []string{"", "/* comment\n\n\n */", "int x = 3; local.c += x;",
			"local.l += in_header(s);", "short *p = (short *)s; unsigned char bytes[77]; *p = 4;",
			"for (long long i = 0; i < s->a; i++) local.c += i;"} {
			w.compile("a", fmt.Sprintf(source, body), flags)
			got := w.bytes(w.convert("a.b.o", true))
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %q changes the object: %v", flags, body, units(w.convert("a.b.o", true)))
			}
		}
	}
}

// TestEndian converts clang's BTF for BPF programs, in both byte orders.
func TestEndian(t *testing.T) {
	w := newWorkspace(t)
	w.Features = w.Features.With(features.GlobalVar)
	orders := map[binary.ByteOrder]bool{}
	for _, target := range []string{"bpfel", "bpfeb"} {
		w.Write("prog.c", `
			struct inner { int c[3]; }; struct shared { int a : 3; struct inner *p; };
			extern int helper(struct shared *); extern const int config;
			int counter; static volatile int state[4];
			const char _license[] __attribute__((section("license"))) = "GPL";
			static __attribute__((noinline)) int local(struct shared *s) { return s->a; }
			__attribute__((section("classifier"))) int prog(struct shared *s) {
				return local(s) + counter + state[s->a] + helper(s) + config;
			}`)
		w.run("clang -target " + target + " -g -O2 -c -o prog.o prog.c")
		o := w.convert("prog.o", true)
		var got []string
		for _, line := range units(o) {
			got = append(got, line[:strings.LastIndexByte(line, ':')])
		}
		want := []string{
			"prog.c: kind 12 local size 0 aux 0 flag false",
			"prog.c: kind 12 prog size 0 aux 1 flag false",
			"prog.c: kind 14 _license size 4 aux 1 flag true",
			"prog.c: kind 14 counter size 4 aux 1 flag true",
			"prog.c: kind 14 state size 16 aux 0 flag true",
			// clang only declares struct inner, because only a pointer in a struct leads to it.
			"prog.c: kind 4 shared size 16 aux 0 flag true",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: units %q\nwant %q", target, got, want)
		}
		blob, _ := w.link(w.Facts("prog.o"), o)
		if blob.Order != w.Open("prog.o").Order {
			t.Errorf("%s: BTF is %v", target, blob.Order)
		}
		orders[blob.Order] = true
	}
	if len(orders) != 2 {
		t.Errorf("byte orders %v", orders)
	}
}
