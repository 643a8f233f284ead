package badinput

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// shaping are the verbs that need the shapes of the types in x.btf. All of them accept the types,
// or none does.
var shaping = []string{
	"btfdedup merge -o out x.btf",
	"btfdedup link -o out x.btf",
	"btfdedup index -o out x.btf",
	"btfdedup conflicts x.btf",
	"btfdedup link -o out --base x.btf sample.btfo",
	"btfgen modules -q -o out --base x.btf sample.o",
	"btfgen elf -o out --base x.btf sample.o",
}

// reading are further verbs that read BTF.
var reading = []string{
	"btfdedup relocate -o out --base x.btf --distilled-base distilled.btf split.btf",
	"btfdedup archive -q -o out --release 1 --vmlinux x.btf",
	"btfdedup import -o out x.btf",
	"btfdedup verify x.btf",
	"btfdedup diff x.btf good.btf",
	"btfdedup diff x.btf x.btf",
	"btfdedup stats x.btf",
	"btfdedup dump -o out x.btf",
	"btfdedup dump --format=c -o out x.btf",
	"btfdedup embed -q -o out --btf x.btf sample.o",
	"btfdedup resolve-ids -q -o out --btf x.btf sample.o",
	"btfdedup link -o out x.btf good.btf",
}

// writeSample writes the files that verbs name, except for x.btf.
func writeSample(t *testing.T, dir string) {
	harness.WriteFile(t, filepath.Join(dir, "sample.c"), sample)
	harness.WriteFile(t, filepath.Join(dir, "symbols"), "f\n")
	harness.MustRun(t, dir, "gcc", "-g", "-c", "sample.c")
	btfdedup := harness.Tool(t, "btfdedup")
	harness.MustRun(t, dir, harness.Tool(t, "btfgen"), "object", "-o", "sample.btfo", "sample.o")
	harness.MustRun(t, dir, btfdedup, "link", "-o", "good.btf", "sample.btfo")
	harness.MustRun(t, dir, btfdedup, "link", "-o", "split.btf", "--base", "good.btf",
		"--distilled-base", "distilled.btf", "sample.btfo")
}

func (g graph) write(t *testing.T, dir string, bytes int) {
	b := btf.NewBuilder(nil, nil, nil)
	g.fill(b, bytes)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	must.OK(t, os.WriteFile(filepath.Join(dir, "x.btf"), data, 0o666))
}

// TestGraphs gives each graph, small, to two verbs in shaping, and some graphs of 1 MB to one verb,
// within the limits of crafted inputs. What is exponential is so in small graphs too.
func TestGraphs(t *testing.T) {
	harness.Need(t, "gcc")
	dir := t.TempDir()
	writeSample(t, dir)
	limit := cost{craftedTime, craftedMemory}
	run := func(name, verb string, tries int) int {
		t.Helper()
		least, code := cost{time.Hour, 1 << 62}, 0
		for ; tries > 0 && !least.within(limit); tries-- {
			must.OK(t, os.RemoveAll(filepath.Join(dir, "out")))
			var said string
			var took cost
			code, said, took = measure(t, dir, strings.Fields(verb))
			least = cost{min(least.time, took.time), min(least.memory, took.memory)}
			if code < 0 { // all graphs of this kind would take as long
				t.Fatalf("%s: %s: killed after %v", name, verb, took.time)
			}
			if code > 1 || strings.Contains(said, "goroutine ") {
				t.Errorf("%s: %s: exit %d, %s", name, verb, code, head(said))
			}
		}
		if !least.within(limit) {
			t.Errorf("%s: %s: %v and %d MB", name, verb, least.time, least.memory>>20)
		}
		return code
	}
	all := slices.Concat(shaping, reading)
	const large = 9 // one graph in so many; it has no factor in common with the lists of graphs
	for i, g := range graphs() {
		g.write(t, dir, 16<<10)
		other := shaping[1+i%(len(shaping)-1)]
		if a, b := run(g.name, shaping[0], 1), run(g.name, other, 1); a != b {
			t.Errorf("%s: exit codes %d of %s and %d of %s", g.name, a, shaping[0], b, other)
		}
		if i%large == 0 {
			g.write(t, dir, 1000<<10)
			run(g.name, all[i/large%len(all)], 3)
		}
	}
}

// graphsCrafted returns graphs that were slow once, and graphs that are compiled from C.
func graphsCrafted() []crafted {
	file := func(name, verb string, want string, fill func(b *btf.Builder)) crafted {
		return crafted{name + ": " + verb, func(t *testing.T, dir string) []string {
			writeSample(t, dir)
			graph{name, func(b *btf.Builder, _ int) { fill(b) }}.write(t, dir, 0)
			return strings.Fields(verb)
		}, want}
	}
	tails := func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
		b.Ref(btf.KindTypedef, "t", 1)
		at := b.Name(strings.Repeat("x", 200000))
		for i := range uint32(14000) {
			id := b.DeclTag("", 2, btf.DeclTagWhole)
			b.Blob.Types[id-1].NameOff = at + 14*i
		}
	}
	// The function f leads to all structs.
	tailed := func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
		b.Ref(pointer, "", 5)
		b.FuncProto(1, btf.Param{Type: 2, NameOff: b.Name("a")})
		b.Func("f", 3, btf.LinkageGlobal)
		at := b.Name(strings.Repeat("x", 300000))
		for i := range uint32(6000) {
			id := b.NextID()
			composite(b, btf.KindStruct, "", id+1)
			b.Blob.Types[id-1].NameOff = at + 14*i
			b.Ref(pointer, "", id+2)
		}
		b.Int("long", 8, btf.IntSigned, 0)
	}
	// Only a typedef makes the rings valid, and each struct refers twice to the next.
	rings := func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
		for first := range uint32(11) {
			begin := b.NextID()
			for i := range uint32(110) {
				composite(b, btf.KindStruct, "", begin+3*i+1, begin+3*i+2)
				b.Ref(pointer, "", begin+3*(i+1))
				b.Ref(pointer, "", begin+3*(i+1))
			}
			b.Ref(btf.KindTypedef, fmt.Sprintf("t%d", first), begin)
		}
	}
	long := func(b *btf.Builder) {
		name := strings.Repeat("x", 500000)
		values := make([]btf.Enumerator, 40000)
		for i := range values {
			values[i] = btf.Enumerator{NameOff: b.Name(name), Value: uint64(i)}
		}
		b.Enum(btf.KindEnum, "e", 4, false, values...)
	}
	padded := func(b *btf.Builder) {
		for i := range uint32(20000) {
			b.Ref(pointer, "", b.NextID()+1)
			composite(b, btf.KindStruct, "s")
			b.Blob.Types[len(b.Blob.Types)-1].SizeOrType = i
		}
	}
	header := "btfdedup dump --format=c -o out x.btf"
	list := []crafted{file("names with the same end", "btfdedup verify --for=load x.btf", "", tails),
		file("enumerators with a long name", header, "too large", long),
		file("structs of padding", header, "too large", padded)}
	for _, verb := range []string{"btfdedup dump --format=kabi --symbols symbols x.btf",
		"btfdedup diff x.btf good.btf"} {
		list = append(list, file("structs whose names have the same end", verb, "overlap", tailed))
	}
	for _, verb := range shaping {
		list = append(list, file("rings with a typedef", verb, "", rings))
	}
	for _, tt := range []struct {
		name, want string
		source     func(w *strings.Builder)
	}{
		{"structs that refer to the next twice", "", func(w *strings.Builder) {
			for i := range 4000 {
				fmt.Fprintf(w, "struct s%d { struct s%d *a, *b; } v%d;\n", i, i+1, i)
			}
		}},
		{"400 typedefs of pointers", "", func(w *strings.Builder) {
			w.WriteString("typedef int t0;\n")
			for i := range 400 {
				fmt.Fprintf(w, "typedef t%d *t%d;\n", i, i+1)
			}
			w.WriteString("t400 f(t400 x) { return x; }\n")
		}},
		{"anonymous structs that refer to the next twice", "", func(w *strings.Builder) {
			w.WriteString("typedef int t0;\n")
			for i := range 300 {
				fmt.Fprintf(w, "typedef struct { t%d *a, *b; } t%d;\n", i, i+1)
			}
			w.WriteString("int f(t300 *x) { return x != 0; }\n")
		}},
		{"1,100 typedefs of pointers", "nest", func(w *strings.Builder) {
			w.WriteString("typedef int t0;\n")
			for i := range 1100 {
				fmt.Fprintf(w, "typedef t%d *t%d;\n", i, i+1)
			}
			w.WriteString("t1100 f(t1100 x) { return x; }\n")
		}},
	} {
		for _, verb := range []string{"btfgen object -o out x.o", "btfgen elf -o out x.o"} {
			list = append(list, crafted{name: tt.name + ": " + verb, want: tt.want,
				make: func(t *testing.T, dir string) []string {
					var w strings.Builder
					tt.source(&w)
					harness.WriteFile(t, filepath.Join(dir, "x.c"), w.String())
					harness.MustRun(t, dir, "gcc", "-g", "-c", "x.c")
					return strings.Fields(verb)
				}})
		}
	}
	return list
}
