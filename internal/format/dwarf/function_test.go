package dwarf

import (
	std "debug/dwarf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// bodies is a C source with types, blocks and functions inside functions.
const bodies = `
extern void use(void *, ...);
int plain(int a, const char *b) { return a + *b; }
int varying(int n, ...) { typedef long local; local x = n; use(&x); return 0; }
static inline __attribute__((always_inline)) int folded(int a) {
	struct in_folded { int a; } s = { a };
	{
		union deep { int a; char c[4]; } d = { a }; use(&d, &s);
		if (a > 3) { enum colour { red, green } c = green; use(&c); }
	}
	return a;
}
int caller(int a, int b) {
	int one = folded(a);
	for (int i = 0; i < b; i++) {
		struct { int x; } anonymous = { i };
		typedef struct later { int y; } later; later l = { i };
		use(&anonymous, &l);
	}
	{ int two = folded(b); use(&two); }
	return one;
}
int outer(int a) {
	struct of_outer { int a; } s = { a };
	int nested(int b) { struct of_nested { int b; } t = { a + b }; use(&t); return b; }
	use(nested, &s);
	return nested(3);
}
`

// untyped is a C source with a function in a block, but without type definitions.
const untyped = `
extern void use(void *, ...);
void outer(int a) {
	if (a > 3) {
		int nested(int b) { return a + b; }
		use(nested);
	}
	{ int later = a; use(&later); }
}
`

// TestFunctionsChildren compares the children of functions and function types with a walk that
// reads entry by entry.
func TestFunctionsChildren(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"bodies": bodies, "untyped": untyped} {
		source := filepath.Join(dir, name+".c")
		must.OK(t, os.WriteFile(source, []byte(text), 0o666))
		for _, flags := range []string{"-O0 -gdwarf-5", "-O2 -gdwarf-5", "-O2 -gdwarf-4"} {
			object := filepath.Join(dir, name+flags+".o")
			args := append(strings.Fields(flags), "-c", "-o", object, source)
			programtest.Run(t, dir, "gcc", args...)
		}
	}
	lists, found, skipped := 0, 0, 0
	for name, d := range objectFiles(t, filepath.Join(dir, "*.o")) {
		var r Reader
		for i := range d.Units {
			if r.Load(d, &d.Units[i]) != nil {
				break
			}
			var e DIE
			for off := d.Units[i].HeaderLen; uint64(off) < d.Units[i].Len; off = e.Next {
				if r.Read(off, &e) != nil {
					break
				}
				if e.Tag == std.TagSubprogram || e.Tag == std.TagSubroutineType {
					lists++
					found += compareChildren(t, name, &r, &e)
					skipped += checkSkipped(t, name, &r, &e)
				}
			}
		}
	}
	if lists < 100 || found < 15 || skipped < 200 {
		t.Errorf("compared %d lists of children, with %d definitions in them, and skipped %d entries: "+
			"too few to mean much", lists, found, skipped)
	}
}

// compareChildren compares the children of a function, and returns the number of definitions of
// types and functions among them.
func compareChildren(t *testing.T, file string, r *Reader, e *DIE) int {
	f, err := r.Function(e)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var got []uint32
	for _, p := range f.Parameters {
		got = append(got, p.Off)
	}
	var want, definitions []uint32
	off := e.Next
	for depth := 1; depth > 0 && e.Children; {
		var c DIE
		if err := r.Read(off, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if c.Null {
			off = c.Next
			depth--
			continue
		}
		switch c.Tag {
		case std.TagFormalParameter, std.TagUnspecifiedParameters:
			if depth == 1 {
				want = append(want, off)
			}
		case std.TagLexDwarfBlock:
			if c.Children {
				depth++
			}
			off = c.Next
			continue
		case std.TagTypedef, std.TagStructType, std.TagUnionType, std.TagSubprogram:
			if c.Has(Name) && !c.Flag(Declaration) {
				definitions = append(definitions, off)
				if !f.Declares {
					t.Errorf("%s: entry at %#x: the definition at %#x is not found", file, e.Off, off)
				}
			}
		}
		if off, err = r.afterDIE(&c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if !slices.Equal(got, want) || f.End != off {
		t.Errorf("%s: entry at %#x: parameters at %#x and the end at %#x; entry by entry at %#x and %#x",
			file, e.Off, got, f.End, want, off)
	}
	return len(definitions)
}

// checkSkipped checks what SkipToCall skips, from each entry of a function on. It returns how many
// entries are skipped.
func checkSkipped(t *testing.T, file string, r *Reader, e *DIE) (skipped int) {
	f, err := r.Function(e)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	end := f.End
	for off := e.Next; off < end; {
		var c DIE
		if err := r.Read(off, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		next, _ := r.Skip(off, SkipToCall)
		for at := off; at < next; skipped++ {
			h, err := r.Peek(at)
			if err != nil || h.Abbrev == nil || h.Abbrev.Encloses || h.Abbrev.Declares() ||
				h.Abbrev.Tag == std.TagInlinedSubroutine || h.Abbrev.Tag == std.TagFormalParameter ||
				h.Abbrev.Tag == std.TagLexDwarfBlock {
				t.Fatalf("%s: the entry at %#x is skipped", file, at)
			}
			if at, err = r.After(h); err != nil || at > next {
				t.Fatalf("%s: from %#x, SkipToCall stops in an entry, at %#x", file, off, next)
			}
		}
		off = c.Next
	}
	return skipped
}
