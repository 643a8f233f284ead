package convert

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// edit is a variant of testdata/stable.c, with other texts or with other flags.
type edit struct {
	name  string
	put   map[string]string // the name of a marker, or a text in the source → text
	flags []string
	dir   string // the source's directory, below a new directory
}

// objectOf returns the BTF object of the edited source.
func (e *edit) objectOf(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/stable.c")
	must.OK(t, err)
	source := string(text)
	for old, with := range e.put {
		if marker := "//@" + old + "@"; strings.Contains(source, marker) {
			old = marker
		} else if !strings.Contains(source, old) {
			t.Fatalf("no %s", old)
		}
		source = strings.ReplaceAll(source, old, with)
	}
	dir := filepath.Join(t.TempDir(), e.dir)
	must.OK(t, os.MkdirAll(dir, 0o777))
	for name, content := range map[string]string{
		"stable.c": source,
		"one.h":    "struct one { int x; };\n",
		"two.h":    "struct two { struct one *o; };\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	out := filepath.Join(dir, "stable.o")
	programtest.Run(t, dir, "gcc",
		append([]string{"-w", "-g", "-O2", "-c", "-o", out, "stable.c"}, e.flags...)...)
	data, err := object.Write(convertFile(t, out, Options{Features: features.Default(), Jobs: 1}), 1)
	must.OK(t, err)
	return data
}

const included = "#include \"one.h\"\n#include \"two.h\""

// TestStability edits a source in ways that change no declaration. The BTF object must stay the
// same byte for byte, so that the results of all later actions come from the cache.
func TestStability(t *testing.T) {
	plain := (&edit{}).objectOf(t)
	withHeaders := (&edit{put: map[string]string{"include": included,
		"after": "struct two *t;"}}).objectOf(t)
	const function = "int other(struct state *s) { return s->a; }"
	twoFunctions := (&edit{put: map[string]string{"after": function}}).objectOf(t)
	unoptimized := []string{"-O0", "-gdwarf-4"}
	unoptimizedPlain := (&edit{flags: unoptimized}).objectOf(t)
	for _, tt := range []struct {
		edit
		of []byte
	}{
		{edit{name: "nothing"}, plain},
		{edit{name: "comment", put: map[string]string{"comment": "/* new\n\n words */"}}, plain},
		{edit{name: "lines", put: map[string]string{"comment": strings.Repeat("\n", 300)}}, plain},
		{edit{name: "locals",
			put: map[string]string{"body": "int i, j[9]; unsigned char *p = (void *)s; for (i = 0; i < " +
				"9; i++) j[i] = p[i] * 1.5; sink(j[3]);"}}, plain},
		{edit{name: "locals, without optimization", flags: unoptimized, put: map[string]string{
			"comment": "\n\n",
			"body":    "volatile char j[37] = {1}; const char *q = s->u.c; sink(j[3] + !q);"}},
			unoptimizedPlain},
		{edit{name: "a longer body", put: map[string]string{"body": "for (int i = 0; i < 10; i++) " +
			"if ((s->a += i) > 100) { sink(i); f(s, OFF); }"}}, plain},
		{edit{name: "a string", put: map[string]string{"body": `sink((long)"a string");`}}, plain},
		{edit{name: "inline calls",
			put: map[string]string{"body": "sink(helper(s)); sink(helper(s->next));"}}, plain},
		{edit{name: "an inlined static function",
			put: map[string]string{"static": "static inline long more(struct state *s) { return s->a * 2; }",
				"body": "sink(more(s));"}}, plain},
		{edit{name: "a pointer to a pointer",
			put: map[string]string{
				"body": "struct state **volatile pp = &s; float y = (*pp)->a; sink(y);"}}, plain},
		{edit{name: "a declaration that nothing uses",
			put: map[string]string{"after": "extern int unused(double, struct state *);"}}, plain},
		{edit{name: "an unused static function",
			put: map[string]string{"static": "static int unused(double d) { return d; }"}}, plain},
		{edit{name: "moved tree", dir: "elsewhere/deep/down"}, plain},
		{edit{name: "-O1", flags: []string{"-O1"}}, plain},
		{edit{name: "-O0", flags: []string{"-O0"}}, nil}, // the static inline function is encoded
		{edit{name: "-g3", flags: []string{"-g3"}}, plain},
		{edit{name: "DWARF 4", flags: []string{"-gdwarf-4"}}, plain},
		{edit{name: "64-bit DWARF", flags: []string{"-gdwarf64"}}, plain},
		{edit{name: "compressed", flags: []string{"-gz=zlib"}}, plain},
		{edit{name: "sections", flags: []string{"-ffunction-sections", "-fdata-sections"}}, plain},
		{edit{name: "type units", flags: []string{"-fdebug-types-section"}}, plain},
		{edit{name: "headers", put: map[string]string{"include": included, "after": "struct two *t;"}},
			withHeaders},
		{edit{name: "a type moved out of a header", put: map[string]string{"after": "struct two *t;",
			"include": "#include \"one.h\"\nstruct two { struct one *o; };"}}, withHeaders},
		{edit{name: "functions swapped", put: map[string]string{"static": function}}, twoFunctions},
		{edit{name: "order of headers",
			put: map[string]string{"include": "#include \"two.h\"\n#include \"one.h\"",
				"after": "struct two *t;"}}, withHeaders},
		{edit{name: "other order of declarations", put: map[string]string{"include": "struct two *t;\n" +
			included}}, withHeaders},

		{edit{name: "a new member", put: map[string]string{"include": "#define next next, *last"}}, nil},
		{edit{name: "a renamed member", put: map[string]string{"u;": "v;", "u.l": "v.l"}}, nil},
		{edit{name: "an enumerator's value", put: map[string]string{"ON = 5": "ON = 6"}}, nil},
		{edit{name: "a bit-field's width", put: map[string]string{"m : 3": "m : 4"}}, nil},
		{edit{name: "a parameter's name", put: map[string]string{"callback f)": "callback g)",
			"+ f(": "+ g("}}, nil},
		{edit{name: "a parameter's type", put: map[string]string{"(struct state *, enum": "(const " +
			"struct state *, enum"}}, nil},
		{edit{name: "a new function", put: map[string]string{"after": "int more(void) { return 1; }"}},
			nil},
		{edit{name: "a new local struct",
			put: map[string]string{"body": "struct loc { int q; } loc = { 3 }; sink(loc.q);"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // nearly all of the time is the compiler's
			got := tt.objectOf(t)
			switch {
			case tt.of == nil && bytes.Equal(got, plain):
				t.Error("the object is the same, though a declaration has changed")
			case tt.of != nil && !bytes.Equal(got, tt.of):
				t.Error("the object has changed")
			}
		})
	}
}
