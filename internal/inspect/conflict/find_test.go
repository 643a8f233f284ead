package conflict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// program maps the names of C files to their BTF objects.
type program map[string]*object.Object

// compile compiles the C files in src, each of which begins after a line "// NAME.c".
func compile(t *testing.T, src string) program {
	t.Helper()
	dir := programtest.NewDir(t)
	p := program{}
	for _, text := range strings.Split(src, "// ")[1:] {
		name, text, _ := strings.Cut(text, "\n")
		dir.Write(name, text)
		dir.Run("gcc", "-g", "-O1", "-c", "-o", name+".o", name)
		f, err := elf.Open(dir.Path(name + ".o"))
		must.OK(t, err)
		o, err := convert.File(f, convert.Options{Features: features.Default()})
		must.OK(t, err)
		if p[strings.TrimSuffix(name, ".c")], err = object.Merge(o.Object); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return p
}

// find runs Find on the objects of a program in the given order. The input "a+b" is the union of
// the objects a and b.
func (p program) find(t *testing.T, bases []Base, order ...string) *Report {
	t.Helper()
	in := NewInputs()
	for _, input := range order {
		m := object.NewMerger()
		for _, name := range strings.Split(input, "+") {
			must.OK(t, m.Add(name, p[name]))
		}
		must.OK(t, in.Add(input, m.Object()))
	}
	r := must.Get(in.Find(bases))(t)
	return r
}

func text(t *testing.T, r *Report, all bool) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, r.WriteText(&b, all))
	return b.String()
}

func TestText(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"the same header, declared here and defined there", `
// a.c
struct dev; struct bus { struct dev *first; }; struct dev { struct bus *bus; int id; };
int a(struct bus *b) { return b->first->id; }
// b.c
struct dev; struct bus { struct dev *first; };
int b(struct bus *b) { return b->first != 0; }
`, `no conflicts in 2 files (2 units)
`},
		{"a member of an anonymous member, and types that only refer to it", `
// a.c
struct opts { int x; struct { union { char c; int baz; } u; } bar; int y; };
struct dev { struct opts *opts; struct bus *bus; };
struct bus { struct dev *first; }; typedef struct bus bus_t;
int a(bus_t *b) { return b->first->opts->x; }
// b.c
struct opts { int x; struct { union { char c; long baz; } u; } bar; int y; };
struct dev { struct opts *opts; struct bus *bus; };
struct bus { struct dev *first; }; typedef struct bus bus_t;
int b(bus_t *b) { return b->first->opts->x; }
// c.c
struct opts { int x; struct { union { char c; long baz; } u; } bar; int y; };
struct dev { struct opts *opts; struct bus *bus; };
struct bus { struct dev *first; }; typedef struct bus bus_t;
int c(bus_t *b) { return b->first->opts->x; }
`, `struct opts: 2 definitions
  A in 2 units: b (b.c), c (c.c)
  B in 1 unit: a (a.c)
  A vs B: member bar.u.baz: type long int vs int (size 24 vs 12)
  because of it, these differ too: struct bus, typedef bus_t, struct dev

1 conflict in 3 files (3 units); 3 more names only because of these
`},
		{"a path of members", `
// a.c
struct opts { struct { union { char c; unsigned *baz; } u; } bar; };
int a(struct opts *o) { return o->bar.u.c; }
// b.c
struct opts { struct { union { char c; int *baz; } u; } bar; };
int b(struct opts *o) { return o->bar.u.c; }
// c.c
struct opts { struct { union { char c; int *baz; } u; } bar; };
int c(struct opts *o) { return o->bar.u.c; }
`, `struct opts: 2 definitions
  A in 2 units: b (b.c), c (c.c)
  B in 1 unit: a (a.c)
  A vs B: member bar.u.baz: type int * vs unsigned int *

1 conflict in 3 files (3 units)
`},
		{"typedefs, an enum, a union", `
// a.c
typedef unsigned id_t; enum mode { OFF, ON }; union u { int i; }; struct user { id_t id; };
int a(struct user *p, enum mode m, union u *u) { return p->id + m + u->i; }
// b.c
typedef unsigned id_t; enum mode { OFF, ON }; union u { int i; }; struct user { id_t id; };
int b(struct user *p, enum mode m, union u *u) { return p->id + m + u->i; }
// c.c
typedef unsigned long id_t; enum mode { OFF, ON = 2 }; union u { int j; }; struct user { id_t id; };
int c(struct user *p, enum mode m, union u *u) { return p->id + m + u->j; }
`, `typedef id_t: 2 definitions
  A in 2 units: a (a.c), b (b.c)
  B in 1 unit: c (c.c)
  A vs B: type unsigned int vs long unsigned int
  because of it, these differ too: struct user

enum mode: 2 definitions
  A in 2 units: a (a.c), b (b.c)
  B in 1 unit: c (c.c)
  A vs B: enumerator ON: 1 vs 2

union u: 2 definitions
  A in 2 units: a (a.c), b (b.c)
  B in 1 unit: c (c.c)
  A vs B: member i: name i vs j

3 conflicts in 3 files (3 units); 1 more name only because of these
`},
		{"two definitions in one file, a third elsewhere", `
// a.c
int a(void *p) {
	{ struct arg { char c; } *x = p; if (x->c) return 1; }
	{ struct arg { char c, d; } *x = p; return x->d; }
}
// b.c
struct arg { int i; };
int b(struct arg *p) { return p->i; }
// c.c
struct arg { int i; };
int c(struct arg *p) { return p->i; }
`, `struct arg: 3 definitions
  A in 2 units: b (b.c), c (c.c)
  B in 1 unit: a (a.c)
  C in 1 unit: a (a.c)
  A vs B: member i: only in A (size 4 vs 2)
  A vs C: member i: only in A (size 4 vs 1)

1 conflict in 3 files (3 units)
`},
		{"offsets that differ because of a member", `
// a.c
struct lock { int v; int owner; }; union box { struct { int n; struct lock locks[2]; } in; };
struct first { struct lock lock; int x; };
struct second { struct lock *lock; union box box; char c; };
struct packed { struct lock *p; char c; int i; };
int a(struct first *f, struct second *s, struct packed *p) { return f->x + s->c + p->i; }
// b.c
struct lock { int v; }; union box { struct { int n; struct lock locks[2]; } in; };
struct first { struct lock lock; int x; };
struct second { struct lock *lock; union box box; char c; };
struct packed { struct lock *p; char c; int i; } __attribute__((packed));
int b(struct first *f, struct second *s, struct packed *p) { return f->x + s->c + p->i; }
// c.c
struct lock { int v; }; union box { struct { int n; struct lock locks[2]; } in; };
struct first { struct lock lock; int x; };
struct second { struct lock *lock; union box box; char c; };
struct packed { struct lock *p; char c; int i; } __attribute__((packed));
int c(struct first *f, struct second *s, struct packed *p) { return f->x + s->c + p->i; }
`, `struct lock: 2 definitions
  A in 2 units: b (b.c), c (c.c)
  B in 1 unit: a (a.c)
  A vs B: member owner: only in B (size 4 vs 8)
  because of it, these differ too: union box, struct first, struct second

struct packed: 2 definitions
  A in 2 units: b (b.c), c (c.c)
  B in 1 unit: a (a.c)
  A vs B: member i: offset 9 vs 12 (size 13 vs 16)

2 conflicts in 3 files (3 units); 3 more names only because of these
`},
		{"definitions that differ because of two others", `
// a.c
struct x { int i; }; struct y { int i; }; struct user { struct x *x; struct y *y; };
int a(struct user *p) { return p->x->i + p->y->i; }
// b.c
struct x { int i; }; struct y { int i; }; struct user { struct x *x; struct y *y; };
int b(struct user *p) { return p->x->i + p->y->i; }
// c.c
struct x { int i; }; struct y { int j; }; struct user { struct x *x; struct y *y; };
int c(struct user *p) { return p->x->i + p->y->j; }
// d.c
struct x { int j; }; struct y { int i; }; struct user { struct x *x; struct y *y; };
int d(struct user *p) { return p->x->j + p->y->i; }
`, `struct x: 2 definitions
  A in 3 units: a (a.c), b (b.c), c (c.c)
  B in 1 unit: d (d.c)
  A vs B: member i: name i vs j
  because of it, these differ too: struct user

struct y: 2 definitions
  A in 3 units: a (a.c), b (b.c), d (d.c)
  B in 1 unit: c (c.c)
  A vs B: member i: name i vs j
  because of it, these differ too: struct user

2 conflicts in 4 files (4 units); 1 more name only because of these
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compile(t, c.src)
			names := []string{"a", "b", "c", "d"}[:len(p)]
			for _, order := range permutations(names) {
				if got := text(t, p.find(t, nil, order...), false); got != c.want {
					t.Fatalf("of %v\n%s\nwant\n%s", order, got, c.want)
				}
			}
		})
	}
}

func permutations(list []string) [][]string {
	if len(list) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, first := range list {
		rest := append(append([]string{}, list[:i]...), list[i+1:]...)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{first}, p...))
		}
	}
	return all
}

const threeUnits = `
// a.c
struct s { int i; };
int a(struct s *p) { return p->i; }
// b.c
struct s { int j; };
int b(struct s *p) { return p->j; }
// c.c
struct s { int j; };
int c(struct s *p) { return p->j; }
`

// TestMerged looks for conflicts in objects that have already been merged. The units are the same
// as without merging, but the files that hold them differ.
func TestMerged(t *testing.T) {
	p := compile(t, threeUnits)
	for _, c := range []struct{ inputs, holders string }{
		{"a+b c", "A in 2 units: a+b (b.c), c (c.c)\n  B in 1 unit: a+b (a.c)\n"},
		{"c a+b", "A in 2 units: a+b (b.c), c (c.c)\n  B in 1 unit: a+b (a.c)\n"},
		{"c+b+a", "A in 2 units: c+b+a (b.c, c.c)\n  B in 1 unit: c+b+a (a.c)\n"},
		{"a a a b c", "A in 3 units: a (a.c)\n  B in 2 units: b (b.c), c (c.c)\n"},
	} {
		if got := text(t, p.find(t, nil, strings.Fields(c.inputs)...), false); !strings.Contains(got,
			c.holders) {
			t.Errorf("%s\n%s", c.inputs, got)
		}
	}
}

func TestLongLists(t *testing.T) {
	p := compile(t, threeUnits)
	var inputs []string
	for i := range 9 {
		name := fmt.Sprintf("b%d", i)
		p[name] = p["b"]
		inputs = append(inputs, name)
	}
	r := p.find(t, nil, append(inputs, "a")...)
	for all, want := range map[bool]string{
		false: "  A in 9 units: b0 (b.c), b1 (b.c), b2 (b.c) and 6 more files\n  B in 1 unit: a (a.c)\n",
		true: "  A in 9 units: b0 (b.c), b1 (b.c), b2 (b.c), b3 (b.c), b4 (b.c), " +
			"b5 (b.c), b6 (b.c), b7 (b.c), b8 (b.c)\n" +
			"  B in 1 unit: a (a.c)\n",
	} {
		if got := text(t, r, all); !strings.Contains(got, want) {
			t.Errorf("all=%v\n%s", all, got)
		}
	}
}

// TestBase compares units with a base. A definition that differs from the one in the base is a
// conflict; a name with two definitions that are both in the base is not.
func TestBase(t *testing.T) {
	p := compile(t, `
// a.c
struct s { int i; }; struct twice { int i; }; struct fine { struct later *p; };
int a(struct s *p, struct twice *q, struct fine *r) { return p->i + q->i + !r; }
// b.c
struct twice { int j; };
int b(struct twice *q) { return q->j; }
// m.c
struct s { int i, j; }; struct twice { int i; };
struct later { int i; }; struct fine { struct later *p; };
int m(struct s *p, struct twice *q, struct fine *r) { return p->i + q->i + r->p->i; }
`)
	res, err := link.Link([]*object.Object{p["a"], p["b"]}, link.Options{})
	must.OK(t, err)
	b, err := btf.Parse(res.BTF, nil)
	must.OK(t, err)
	const want = `struct s: 2 definitions
  A in k.btf (base)
  B in 1 unit: m (m.c)
  A vs B: member j: only in B (size 4 vs 8)

1 conflict in 1 file (1 unit)
`
	if got := text(t, p.find(t, []Base{{"k.btf", b}}, "m"), false); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	// Split BTF includes its base, which must not be listed as another holder.
	parsed, err := base.Parse(b)
	must.OK(t, err)
	res, err = link.Link([]*object.Object{p["m"]}, link.Options{Base: parsed})
	must.OK(t, err)
	split, err := btf.Parse(res.BTF, b)
	must.OK(t, err)
	if p["m"], err = object.FromBTF(object.Target{}, split); err != nil {
		t.Fatal(err)
	}
	got := text(t, p.find(t, []Base{{"k.btf", b}}, "m"), false)
	if w := strings.ReplaceAll(want, " (m.c)", ""); !strings.HasPrefix(got,
		w[:strings.Index(w, "1 conflict")]) {
		t.Errorf("%s\nwant\n%s", got, w)
	}
}

func TestJSON(t *testing.T) {
	p := compile(t, `
// a.c
struct s { int i; }; struct user { struct s *s; };
int a(struct user *p) { return p->s->i; }
// b.c
struct s { int i; }; struct user { struct s *s; };
int b(struct user *p) { return p->s->i; }
// c.c
struct s { long i; }; struct user { struct s *s; };
int c(struct user *p) { return p->s->i; }
`)
	got, err := json.Marshal(p.find(t, nil, "c", "a+b"))
	must.OK(t, err)
	want := strings.Join(strings.Fields(`
{"schema":1,"files":2,"units":3,"conflicts":[
 {"kind":"struct","name":"s","because":[],"definitions":[
  {"id":"A","size":4,"units":2,
   "files":[{"path":"a+b","base":false,"units":2,"sources":["a.c","b.c"]}]},
  {"id":"B","size":8,"units":1,"files":[{"path":"c","base":false,"units":1,"sources":["c.c"]}],
   "difference":{"where":"member_i","what":"type_int_vs_long_int_(size_4_vs_8)"}}]},
 {"kind":"struct","name":"user","because":[{"kind":"struct","name":"s"}],"definitions":[
  {"id":"A","size":8,"units":2,
   "files":[{"path":"a+b","base":false,"units":2,"sources":["a.c","b.c"]}]},
  {"id":"B","size":8,"units":1,"files":[{"path":"c","base":false,"units":1,"sources":["c.c"]}],
   "difference":{"where":"member_s","what":"refers_to_struct_s,_which_differs",
   "because":{"kind":"struct","name":"s"}}}]}]}`), "")
	if got := strings.ReplaceAll(string(got), " ", "_"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	got, err = json.Marshal(p.find(t, nil, "a"))
	if err != nil || string(got) != `{"schema":1,"files":1,"units":1,"conflicts":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}
