package split

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a program of several units that a test compiles.
type program struct {
	compiler string
	flags    string
	files    map[string]string
}

// header is what the units of the programs share.
const header = `
struct list { struct list *next, *prev; };
struct device { const char *name; struct list list; int (*open)(struct device *, int flags);
	unsigned busy : 1; enum state { IDLE = -1, BUSY } state; char tail[]; };
typedef struct { struct device *dev; union { long l; char bytes[8]; }; } handle;
extern int counter;
int use(void *p);
`

// units are some source files: with code, static and inline functions, variables, types in bodies.
var units = map[string]string{
	"main.c": header + `
enum { ORPHAN = 4711 };
int counter = ORPHAN;
__attribute__((section(".data..percpu"))) int per_cpu;
static inline int twice(int a) { struct hidden { int x; } h = { a }; return use(&h) + 2 * a; }
int main(int argc, char **argv) { handle h = { 0 }; return twice(argc) + use(&h) + use(argv); }
`,
	"lib/list.c": header + `
enum { LIST_ORPHAN = 12 };
static __attribute__((noinline)) int count(struct list *l, int unused, int n)
{ for (; l; l = l->next) n += LIST_ORPHAN; return n; }
int sized(void *p)
{ struct sized { int a[3]; struct device *d; }; return ((struct sized *)p)->a[2]; }
int list_count(struct list *l) { return count(l, 0, 1) + count(l->prev, 0, 1); }
__attribute__((weak)) int use(void *p)
{ volatile struct only { void *p; } o = { p }; return !!o.p; }
`,
	"drivers/device.c": header + `
struct private { struct device dev; double d; };
int device_open(struct private *p, struct private by_value, int flags)
{ return p->dev.open ? p->dev.open(&p->dev, flags) : by_value.dev.state; }
static handle cache[4];
int device_cache(void) { return use(cache); }
`,
}

var cxx = map[string]string{"a.cc": `
namespace outer { struct shape { struct inner { int x; }; inner i; static int count;
	int area(int a) { struct local { int z; } l = { a }; enum kind { NEAR, FAR } k = FAR;
		return l.z + k; } }; }
int outer::shape::count = 3;
int main(int argc, char **) { outer::shape s = {}; return s.area(argc) + s.i.x; }`,
	"b.cc": `namespace { struct hidden { long v; }; }
long b(int i) { hidden h = { i }; return h.v; }`}

// shared are units with types that say something by their values, which the copies of units that
// share types must not lose: what is passed by value, the sizes of variables and bitfields; and
// with tags that a unit defines twice.
var shared = map[string]string{
	"values.c": `
struct word { int w; };
enum small { A, B = 2 } __attribute__((packed));
typedef struct { struct word w; enum small s; } pair;
typedef const pair pairs[3];
struct outer { char c; struct word w; struct { pair p; } inner; } __attribute__((packed));
union both { struct outer *o; struct word w; };
struct odd { char c; long at; } __attribute__((packed));
int use(void *);
pairs table = { { { 1 }, B } };
struct outer outers[2];
static union both all[4];
__attribute__((section(".data..percpu"))) pair per_cpu;
enum small by_value(enum small e, pair p, struct outer o, union both b, struct odd odd, int last)
{ return p.s + o.inner.p.w.w + b.w.w + e + odd.at + last; }
pair returned(struct odd *o, int (*f)(struct odd, pair))
{ pair p = { { f(*o, table[1]) }, A }; return p; }
int main(int argc, char **argv) { return use(outers) + use(all); }
`,
	"other.c": `
struct word { int w; };
enum small { A, B = 2 } __attribute__((packed));
typedef struct { struct word w; enum small s; } pair;
struct outer;
struct bits { enum small s : 3; unsigned u : 5; struct { long long deep : 40; } d; };
int take(struct bits b, struct bits *p, pair q, struct outer *o)
{ return b.u + p->d.deep + q.s + !o; }
int use(void *p) { return !p; }
`,
	"twice.c": `
struct word { int w; };
struct outer { struct word *w; };
int use(void *);
int first(struct outer *o) { struct same { int a; struct word w; } s = { 1 }; return use(&s) + !o; }
int second(int n) { struct same { long b[2]; struct word *w; } s = { { n } }; return use(&s); }
int third(int n) { struct same { int a; struct word w; } s = { n }; return use(&s); }
#ifndef __clang__
int variable(int n) { struct array { int a; char c[n]; int b; } a; a.b = 1; return use(&a); }
#endif
`,
	"inside.c": `
typedef struct word { long other; } word;
struct outer { word w; int (*f)(struct outer *, word); };
int use(void *);
int shadow(word w) { { struct word { char c; } x = { w.other }; use(&x); } return use(&w); }
static inline __attribute__((always_inline)) int inl(int n)
{ enum local { ONE = 1, TWO } e = n; typedef int (*fn)(enum local); fn f = (fn)use; return f(e); }
int calls(int n) { return inl(n); }
`,
}

var programs = map[string]program{
	"gcc, values":          {"gcc", "-O2 -gdwarf-5", shared},
	"gcc -O0, values":      {"gcc", "-O0 -gdwarf-5", shared},
	"gcc, values, DWARF 4": {"gcc", "-O2 -gdwarf-4", shared},
	"gcc, values, DWARF 2": {"gcc", "-O2 -gdwarf-2 -gstrict-dwarf", shared},
	"gcc, values, 32 bits": {"gcc", "-O2 -gdwarf-5 -m32 -nostdlib -Wl,-e,main", shared},
	"clang, values":        {"clang", "-O2 -gdwarf-5", shared},
	"clang -O0, values":    {"clang", "-O0 -gdwarf-4", shared},
	"gcc":                  {"gcc", "-O2 -gdwarf-5", units},
	"gcc -O0":              {"gcc", "-O0 -gdwarf-5", units},
	"gcc, DWARF 4":         {"gcc", "-O2 -gdwarf-4", units},
	"gcc, DWARF 2":         {"gcc", "-O2 -gdwarf-2 -gstrict-dwarf", units},
	"gcc, 64-bit":          {"gcc", "-O2 -gdwarf-5 -gdwarf64", units},
	"gcc, type units":      {"gcc", "-O2 -gdwarf-5 -fdebug-types-section", units},
	"gcc, type units of DWARF 4": {"gcc", "-O2 -gdwarf-4 -fdebug-types-section",
		units},
	"gcc, LTO":          {"gcc", "-O2 -flto -gdwarf-5", units},
	"clang":             {"clang", "-O2 -gdwarf-5", units},
	"clang, DWARF 4":    {"clang", "-O2 -gdwarf-4", units},
	"clang, LTO":        {"clang", "-O2 -flto -fuse-ld=lld -gdwarf-5", units},
	"clang, ThinLTO":    {"clang", "-O2 -flto=thin -fuse-ld=lld -gdwarf-5", units},
	"clang, type units": {"clang", "-O2 -gdwarf-5 -fdebug-types-section", units},
	"clang, changed interface": {"clang", "-O2 -gdwarf-5", map[string]string{"a.c": `
struct pair { long a, b; };
int use(void *);
static __attribute__((noinline)) int f(struct pair p, int unused, void *q) { return p.b + use(q); }
int use(void *p) { return !p; }
int main(int argc, char **argv) { struct pair p = { argc, 2 }; return f(p, argc, argv); }`,
		"b.c": "int b(void) { return 1; }"}},
	"C++": {"g++", "-O2 -gdwarf-5 -std=c++17", cxx},
	"gcc, type units of one unit": {"gcc", "-O2 -gdwarf-5 -fdebug-types-section", map[string]string{
		"a.c": header + "enum { ORPHAN = 9 }; struct device *d; int main() { return ORPHAN; }",
		"b.c": "int b(void) { return 1; }"}},
	"gcc, orphans only": {"gcc", "-O2 -gdwarf-5 -fdebug-types-section", map[string]string{
		"a.c": "enum { A = 9 }; int main() { return A; }",
		"b.c": "enum { B = 8 }; int b(void) { return B; }"}},
	"C++, type units":        {"g++", "-O2 -gdwarf-5 -std=c++17 -fdebug-types-section", cxx},
	"clang, C++, type units": {"clang++", "-O2 -gdwarf-5 -std=c++17 -fdebug-types-section", cxx},
	"gcc, one unit, type units": {"gcc", "-O2 -gdwarf-5 -fdebug-types-section",
		map[string]string{"a.c": header + "enum { ORPHAN = 9 }; int main() { return ORPHAN; }"}},
}

// build compiles a program in a directory, each file to an object, and links it. It returns the
// objects and the program.
func (p program) build(t *testing.T, dir string) (objects []string, linked string) {
	t.Helper()
	if _, err := exec.LookPath(p.compiler); err != nil {
		t.Skip("no " + p.compiler)
	}
	if strings.Contains(p.flags, "lld") {
		if _, err := exec.LookPath("ld.lld"); err != nil {
			t.Skip("no ld.lld")
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(p.compiler, append(strings.Fields(p.flags), args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	for _, name := range sortedKeys(p.files) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(p.files[name]), 0o666); err != nil {
			t.Fatal(err)
		}
		run("-w", "-c", "-o", name+".o", name)
		objects = append(objects, name+".o")
	}
	run(append([]string{"-w", "-o", "program"}, objects...)...)
	return objects, filepath.Join(dir, "program")
}

// TestPrograms converts linked programs, and their shards.
func TestPrograms(t *testing.T) {
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			_, linked := p.build(t, t.TempDir())
			for how, opt := range options {
				want, err := convertAll(linked, opt)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range []int{1, 2, 3, 7} {
					sameObject(t, fmt.Sprintf("%s, %d shards", how, n), linked, n, opt, want)
				}
			}
			if _, err := exec.LookPath("dwz"); err != nil || strings.Contains(name, "type units") {
				return
			}
			out, err := exec.Command("dwz", "-l", "none", "-L", "none", linked).CombinedOutput()
			if err != nil {
				t.Logf("dwz: %v, %s", err, out)
				return
			}
			want, err := convertAll(linked, options["all"])
			if err != nil {
				t.Fatal(err)
			}
			sameObject(t, "dwz", linked, 3, options["all"], want)
		})
	}
}

// TestArchives converts archives, fat and thin ones, and their shards. In one of them a member has
// several units.
func TestArchives(t *testing.T) {
	for name, p := range programs {
		if strings.Contains(name, "LTO") {
			continue // the members may have no DWARF
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			objects, _ := p.build(t, dir)
			in := func(args ...string) {
				t.Helper()
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", cmd, err, out)
				}
			}
			in(append([]string{"ar", "crD", "fat.a"}, objects...)...)
			in(append([]string{"ar", "crDT", "thin.a"}, objects...)...)
			join := append([]string{p.compiler, "-r", "-nostdlib", "-o", "joined.o"}, objects...)
			in(append(join, strings.Fields(strings.Replace(p.flags, "-Wl,-e,main", "", 1))...)...)
			in("ar", "crD", "joined.a", "joined.o", objects[0])
			for _, archive := range []string{"fat.a", "thin.a", "joined.a", "joined.o"} {
				path := filepath.Join(dir, archive)
				want, err := convertAll(path, options["all"])
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range []int{1, 3} {
					what := fmt.Sprintf("%s, %d shards", archive, n)
					sameObject(t, what, path, n, options["all"], want)
				}
			}
		})
	}
}

// TestEdits builds programs, edits one unit, and wants only that unit's shard to change. The
// linked programs differ in all addresses and offsets.
func TestEdits(t *testing.T) {
	const shards = 61
	edits := []struct {
		what, file, old, new string
		changes              bool // the unit's shard
	}{
		{"a body", "lib/list.c", "n += LIST_ORPHAN;", `{
			struct unseen { int ***p; } u = { 0 }; n += LIST_ORPHAN + use(&u); }`,
			true}, // the type in the body
		{"a comment, code and a type of its own", "lib/list.c", "int use(void *p)\n{",
			"\n\n/* more */ int use(void *p)\n{ int ***more = p; if (more) counter += 40;", false},
		{"a type", "drivers/device.c", "double d;", "double d; int more;", true},
		{"a function", "main.c", "int main(",
			"int another(long a_new_name) { return a_new_name; } int main(", true},
	}
	for _, name := range []string{"gcc", "gcc, DWARF 4", "gcc -O0", "clang", "clang, DWARF 4"} {
		t.Run(name, func(t *testing.T) {
			p := programs[name]
			_, linked := p.build(t, t.TempDir())
			before, err := splitFile(t, linked, shards, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range edits {
				files := map[string]string{}
				for name, text := range p.files {
					files[name] = text
				}
				files[e.file] = strings.Replace(files[e.file], e.old, e.new, 1)
				if files[e.file] == p.files[e.file] {
					t.Fatalf("%s has no %q", e.file, e.old)
				}
				dir := filepath.Join(t.TempDir(), "a", "longer", "directory")
				_, linked := program{p.compiler, p.flags, files}.build(t, dir)
				after, err := splitFile(t, linked, shards, 2)
				if err != nil {
					t.Fatal(err)
				}
				own := shardOf(e.file, shards)
				for i := range before {
					same := bytes.Equal(before[i], after[i])
					switch {
					case !same && i != own:
						t.Errorf("%s in %s changes shard %d, not only its own, %d", e.what, e.file, i, own)
					case i == own && same == e.changes:
						t.Errorf("%s in %s: its own shard is the same: %v", e.what, e.file, same)
					}
				}
			}
		})
	}
}

// TestLinkOrder wants the same shards whatever the order in which objects are linked, and whether
// their strings are merged.
func TestLinkOrder(t *testing.T) {
	dir := t.TempDir()
	objects, linked := programs["gcc"].build(t, dir)
	want, err := splitFile(t, linked, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	link := exec.Command("gcc", "-o", "other", "-Wl,-O0,-z,separate-code", objects[2], objects[0],
		objects[1])
	link.Dir = dir
	if out, err := link.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := splitFile(t, filepath.Join(dir, "other"), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("shard %d depends on the order of the link", i+1)
		}
	}
}
