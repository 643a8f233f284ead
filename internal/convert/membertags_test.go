package convert

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// taggedUnits are two units with declaration tags on members of unnamed structs and unions. These
// are nested, named only by a typedef, or local to a function. A struct that is in both units has
// different tags in the second unit. If there are type units (TYPE_UNITS), such structs are left
// out: gcc would give both structs the same signature, so one of them would be lost.
var taggedUnits = [2]string{`
#define T(x) __attribute__((btf_decl_tag(x)))
typedef struct {
	int a T("a"); int b : 3 T("bit") T("bit again");
	union { int u T("u"); struct { char c T("c"); }; };
} named_by_typedef;
struct outer {
	int x T("x"); struct { int y T("y"); }; struct { int z T("z"); } named T("named");
	struct { int q T("q"); } array[3] T("array"); struct { int w; } plain;
};
union both { union { int k T("k"); }; struct { long l; } m T("m"); };
#ifdef __clang__
typedef struct { int d; } T("on a struct without a name") on_nameless;
#else
typedef struct { int d; } on_nameless;
#endif
#ifndef TYPE_UNITS
struct same { struct { int y; } m; };
struct conflict { struct { struct conflict *next T("next"); int one; } link; };
struct behind { struct { struct conflict *c T("to a conflict"); } m; };
#endif
int first(named_by_typedef *n, struct outer *o, union both *b, int p T("parameter"),
	on_nameless *w, struct same *s, struct conflict *c, struct behind *h)
{
	struct local { struct { int i T("local i"); }; } l = {{p}};
	struct { int j T("only of a local variable"); } nameless = {1};
	return n->a + o->x + b->k + l.i + nameless.j;
}
`, `
#define T(x) __attribute__((btf_decl_tag(x)))
typedef struct { int a T("a"); int b T("second"); } second_typedef;
#ifndef TYPE_UNITS
struct same { struct { int y; } m; };
struct same_but_tags { struct { int y T("y of another"); } m; };
struct conflict { struct { struct conflict *next T("next"); long two; } link; };
struct behind { struct { struct conflict *c T("to another conflict"); } m; };
#endif
int second(second_typedef *n, struct same *s, struct same_but_tags *t, struct conflict *c,
	struct behind *h)
{
	return n->a;
}
`}

// compilersOfTags returns the installed compilers that know btf_decl_tag.
func compilersOfTags(t *testing.T) (list []string) {
	t.Helper()
	for _, cc := range []string{"gcc", "clang"} {
		cmd := exec.Command(cc, "-x", "c", "-Werror", "-fsyntax-only", "-")
		cmd.Stdin = bytes.NewReader([]byte(`int f(void) __attribute__((btf_decl_tag("x")));`))
		if cmd.Run() == nil {
			list = append(list, cc)
		}
	}
	if len(list) == 0 {
		t.Skip("SKIPPED: no compiler knows btf_decl_tag")
	}
	return list
}

// compileTagged makes objects from taggedUnits, and a file linked from these.
func compileTagged(t *testing.T, flags ...string) (linked string, objs []string) {
	t.Helper()
	return compileTexts(t, taggedUnits[:], flags...)
}

// compileTexts makes an object from each text, and a file linked from these.
func compileTexts(t *testing.T, texts []string, flags ...string) (linked string, objs []string) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		c := filepath.Join(dir, fmt.Sprintf("%d.c", i))
		must.OK(t, os.WriteFile(c, []byte(text), 0o666))
		objs = append(objs, c+".o")
		programtest.Run(t, dir, flags[0], append(slices.Clone(flags[1:]), "-g", "-O1", "-fno-pic",
			"-c", "-o",
			c+".o", c)...)
	}
	linked = filepath.Join(dir, "linked")
	linkObjects(t, linked, objs...)
	return linked, objs
}

// tagLines lists the declaration tags of a BTF blob: text, component, kind and size of the target.
func tagLines(t *testing.T, data []byte) (lines []string) {
	t.Helper()
	b := must.Get(btf.Parse(data, nil))(t)
	for i := range b.Types {
		if d := &b.Types[i]; d.Kind == btf.KindDeclTag {
			on, _ := b.ByID(d.SizeOrType)
			lines = append(lines, fmt.Sprintf("%s: component %d of %v %q, %d elements", b.TypeName(d),
				int32(d.Extra), on.Kind, b.TypeName(on), on.Vlen))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestTagsOfNamelessMembers: declaration tags on members of unnamed structs and unions are encoded
// as pahole encodes them. Equal structs become one type, with the declaration tags of all of these
// structs.
func TestTagsOfNamelessMembers(t *testing.T) {
	for _, cc := range compilersOfTags(t) {
		for _, flags := range [][]string{{cc}, {cc, "-gdwarf-4"},
			{cc, "-fdebug-types-section", "-DTYPE_UNITS"},
			{cc, "-gdwarf-4", "-fdebug-types-section", "-DTYPE_UNITS"}} {
			t.Run(fmt.Sprint(flags), func(t *testing.T) {
				linked, objs := compileTagged(t, flags...)
				ours := twoRoads(t, "default", linked, objs...)
				checkMerges(t, ours.BTF, linked, objs)
				if len(flags) > 1 {
					return
				}
				programtest.Need(t, "pahole")
				(&source{features: "default"}).compareWithPahole(t, linked, ours)
				theirs := must.Get(os.ReadFile(linked + ".btf"))(t)
				if d := diff(tagLines(t, ours.BTF), tagLines(t, theirs)); d != "" {
					t.Errorf("declaration tags: -pahole +ours\n%s", d)
				}
			})
		}
	}
}

// checkMerges checks that merges in any order give the BTF of the linked file.
func checkMerges(t *testing.T, want []byte, linked string, objs []string) {
	t.Helper()
	set := parseFeatures(t, "default")
	var parts []*object.Object
	for _, o := range objs {
		parts = append(parts, convertFile(t, o, Options{Features: set, Jobs: 1}))
	}
	var before []byte
	for _, order := range [][]*object.Object{parts, {parts[1], parts[0], parts[1]}} {
		merged := must.Get(object.Merge(order...))(t)
		data := must.Get(object.Write(merged, 1))(t)
		if got := linkTo(t, linked, set, readObject(t, data)); !bytes.Equal(got.BTF, want) {
			t.Errorf("the merged objects give different BTF than the linked file:\n%s",
				diff(dump(t, got.BTF, true), dump(t, want, true)))
		}
		if len(order) == len(parts) {
			before = data
		} else if bytes.Equal(before, data) {
			t.Error("an object that is given twice is counted only once")
		}
	}
}

// TestTagsInPartialUnits: when dwz moves what several units have in common into partial units, it
// separates gcc's annotations from their types. No tag may be lost.
func TestTagsInPartialUnits(t *testing.T) {
	programtest.Need(t, "dwz")
	for _, cc := range compilersOfTags(t) {
		t.Run(cc, func(t *testing.T) {
			dir := t.TempDir()
			var objs []string
			for _, name := range []string{"one", "two", "three"} {
				c := filepath.Join(dir, name+".c")
				text := "#define first " + name + "\n" + taggedUnits[0]
				must.OK(t, os.WriteFile(c, []byte(text), 0o666))
				objs = append(objs, c+".o")
				programtest.Run(t, dir, cc, "-g", "-gdwarf-4", "-O1", "-fno-pic", "-c", "-o", c+".o", c)
			}
			linked := filepath.Join(dir, "linked")
			linkObjects(t, linked, objs...)
			want := twoRoads(t, "default", linked, objs...)
			if n := len(tagLines(t, want.BTF)); n < 15 {
				t.Errorf("%d declaration tags, want at least 15", n)
			}
			programtest.Run(t, "", "dwz", linked)
			if got := linkFile(t, linked, "default"); !bytes.Equal(got.BTF, want.BTF) {
				t.Errorf("-before dwz +after dwz\n%s",
					diff(dump(t, got.BTF, true), dump(t, want.BTF, true)))
			}
		})
	}
}

// TestTagsOnTypesOfTheBase: split BTF has declaration tags for members of a struct in the base,
// unless the base already has these tags.
func TestTagsOnTypesOfTheBase(t *testing.T) {
	for _, cc := range compilersOfTags(t) {
		t.Run(cc, func(t *testing.T) {
			set := parseFeatures(t, "default")
			_, objs := compileTagged(t, cc)
			var parts []*object.Object
			for _, o := range objs {
				parts = append(parts, convertFile(t, o, Options{Features: set, Jobs: 1}))
			}
			below := must.Get(link.Link(parts[:1], link.Options{Features: set, Jobs: 1}))(t)
			baseBlob := must.Get(btf.Parse(below.BTF, nil))(t)
			chain := must.Get(base.Parse(baseBlob))(t)
			for i, want := range [][]string{nil,
				{"a", "next", "second", "to another conflict", "y of another"}} {
				above, err := link.Link(parts[i:i+1], link.Options{Features: set, Base: chain, Jobs: 1})
				must.OK(t, err)
				split, err := btf.Parse(above.BTF, baseBlob)
				must.OK(t, err)
				var got []string
				for j := range split.Types {
					d := &split.Types[j]
					if on, _ := split.ByID(d.SizeOrType); d.Kind == btf.KindDeclTag &&
						on.Kind != btf.KindFunc {
						got = append(got, split.TypeName(d))
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("unit %d, with unit 1 as base, has the tags %q, want %q", i+1, got, want)
				}
			}
		})
	}
}

// severalTagged are two units that define struct s and union u in several ways, at file scope and
// in functions, with declaration tags on the definitions and on their members. Some functions
// contain the same definition.
var severalTagged = [2]string{`
#define T(x) __attribute__((btf_decl_tag(x)))
struct s { long file T("file"); } T("whole"); struct s file;
union u { struct s *p T("pointer"); } T("whole"); union u of_file;
int one(struct s *f)
{
	struct s { int a T("t"), b T("one"); } T("whole") x = {1, 2};
	union u { struct s *p T("pointer"); int k T("one"); } y = {&x};
	return y.p->b;
}
int two(void)
{
	struct s { int a T("t"), b, c T("two"); } T("whole two") x = {1, 2, 3};
	union u { struct s *p T("pointer"); int k; long l T("two"); } y = {&x};
	return y.p->c;
}
int again(void)
{
	struct s { int a T("t"), b T("one"); } T("whole") x = {1, 2};
	return x.b;
}
`, `
#define T(x) __attribute__((btf_decl_tag(x)))
int three(void)
{
	struct s { int a T("t"), b T("one"); } T("whole") x = {1, 2};
	return x.b;
}
int four(void)
{
	struct s { int a T("t"), b, c, d T("four"); } T("whole") x = {1, 2, 3, 4};
	return x.d;
}
int five(void) { struct same { int a T("t"); } x = {1}; return x.a; }
int six(void) { struct same { int a T("t"); } x = {1}; return x.a; }
`}

// TestTagsOfSeveralDefinitions: a declaration tag belongs to the definition that has it in the
// source, even if a unit defines the struct in several ways. pahole's BTF must have the same tags.
func TestTagsOfSeveralDefinitions(t *testing.T) {
	for _, cc := range compilersOfTags(t) {
		for _, flags := range [][]string{{cc}, {cc, "-gdwarf-4"}, {cc, "-fdebug-types-section"}} {
			t.Run(fmt.Sprint(flags), func(t *testing.T) {
				linked, objs := compileTexts(t, severalTagged[:], flags...)
				ours := twoRoads(t, "default", linked, objs...)
				checkMerges(t, ours.BTF, linked, objs)
				validSplit(t, objs)
				lines := tagLines(t, ours.BTF)
				if len(lines) < 12 {
					t.Errorf("%d declaration tags, want at least 12", len(lines))
				}
				if len(flags) > 1 {
					return
				}
				programtest.Need(t, "pahole")
				programtest.Run(t, "", "pahole", "-J", "--btf_features=default",
					"--btf_encode_detached="+linked+".btf",
					linked)
				theirs := must.Get(os.ReadFile(linked + ".btf"))(t)
				if d := diff(lines, tagLines(t, theirs)); d != "" {
					t.Errorf("declaration tags: -pahole +ours\n%s", d)
				}
			})
		}
	}
}

// validSplit links the first object, then each of the others with the first result as base. All
// results must be valid.
func validSplit(t *testing.T, objs []string) {
	t.Helper()
	opt := link.Options{Features: parseFeatures(t, "default"), Jobs: 1}
	var below *btf.Blob
	for _, o := range objs {
		part := convertFile(t, o, Options{Features: opt.Features, Jobs: 1})
		res, err := link.Link([]*object.Object{part}, opt)
		must.OK(t, err)
		blob, err := btf.Parse(res.BTF, below)
		must.OK(t, err)
		for _, v := range verify.Check(blob, verify.Options{Sorted: true, Module: below != nil}) {
			t.Errorf("%s: %v", o, v)
		}
		if below = blob; opt.Base == nil {
			if opt.Base, err = base.Parse(blob); err != nil {
				t.Fatal(err)
			}
		}
	}
}
