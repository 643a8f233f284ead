package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// header is part of the sources of vmlinux and of the modules. In some modules a macro changes a
// struct, so that this struct, and every type that leads to it, conflicts with vmlinux.
const header = `
#ifndef FIELD
#define FIELD int
#endif
typedef unsigned int u32;
enum state { OFF, ON, BROKEN = -1 };
struct device;
struct node { struct node *next, **pprev; };
struct inner { FIELD value; };
struct driver { int (*probe)(struct device *, struct inner *); struct node node; };
struct device { struct driver *driver; struct inner *inner; enum state state; u32 ids[]; };
struct lone { struct node node; u32 flags : 5, more : 11; };
`

// module returns the sources of module number n: its own file, and one like the file that modpost
// adds.
func module(n int) []string {
	own := ""
	if n%3 == 0 {
		own = "#define FIELD long\n"
	}
	return []string{
		own + header + fmt.Sprintf(`struct own { struct device *device; char name[%d]; };
			int probe_%d(struct own *own, struct lone *lone) { return own->name[lone->flags]; }`, n, n),
		header + fmt.Sprintf("struct device *made_%d; struct lone lone_%[1]d; static struct { "+
			"struct own *own; char text[%[1]d]; } table[3] = { { 0, \"x\" } }; struct lone *used_%[1]d"+
			"(int i) { return table[i].own ? &lone_%[1]d : 0; } int counter_%[1]d "+
			"__attribute__((section(\".data..percpu\")));", n),
	}
}

// compile compiles the sources and links them to the file at path; link has arguments for ld.
func compile(t *testing.T, path string, link []string, sources ...string) {
	t.Helper()
	args := append(link, "-o", path)
	for i, text := range sources {
		c, o := fmt.Sprintf("%s.%d.c", path, i), fmt.Sprintf("%s.%d.o", path, i)
		must.OK(t, os.WriteFile(c, []byte(text+"\n"), 0o600))
		programtest.Run(t, "", "gcc", "-g", "-O1", "-w", "-fno-pic",
			"-fno-eliminate-unused-debug-types", "-c", "-o", o, c)
		args = append(args, o)
	}
	programtest.Run(t, "", "ld", args...)
}

// optionsFor returns options for Linked, with the features in set and these bases.
func optionsFor(set features.Set, bases *base.Files) How {
	return How{Files: new(debugfile.Search), Bases: bases, Convert: convert.Options{Features: set,
		Jobs: 1, SplitDWARF: new(splitdwarf.Finder)}}
}

// kernelOf makes the BTF of a kernel, which is the base of the modules' BTF.
func kernelOf(t *testing.T, set features.Set, dir string) *base.Files {
	t.Helper()
	vmlinux := filepath.Join(dir, "vmlinux")
	compile(t, vmlinux, []string{"-e", "0"}, header+"struct device *d; struct lone l;"+
		"int start(struct driver *driver, struct lone *lone) { return lone->more; }")
	result := must.Get(Linked(vmlinux, optionsFor(set, &base.Files{})))(t)
	bases := must.Get(new(base.Files).With(result.BTF))(t)
	return bases
}

// variables are those that a test encodes: those that aren't per-CPU may be apart.
type variables struct {
	which link.Which
	apart bool
}

// linkAlone makes the BTF of one module, without a Batch. If v.apart is set, a second link makes
// the BTF of the remaining variables. Both links read all of their bases.
func linkAlone(t *testing.T, set features.Set, path string, bases *base.Files,
	v variables) *Result {
	t.Helper()
	linkOn := func(b *btf.Blob, which link.Which) *link.Result {
		from := optionsFor(set, &base.Files{Last: b})
		s := must.Get(read(path, &from))(t)
		on := must.Get(base.Parse(b))(t)
		result := must.Get(link.Link([]*object.Object{s.Object}, link.Options{Facts: s.Facts, Base: on,
			Features: set, Variables: which, Jobs: 1}))(t)
		return result
	}
	if !v.apart {
		return &Result{Result: linkOn(bases.Last, v.which)}
	}
	own := linkOn(bases.Last, link.PerCPU)
	below := must.Get(btf.Parse(own.BTF, bases.Last))(t)
	return &Result{Result: own, Extra: linkOn(below, link.Extra)}
}

// sameResult reports whether two links gave the same bytes, and skipped the same functions and
// variables.
func sameResult(a, b *Result) bool {
	same := func(x, y *link.Result) bool {
		return (x == nil) == (y == nil) && (x == nil || bytes.Equal(x.BTF, y.BTF) &&
			slices.Equal(x.Skipped, y.Skipped))
	}
	return same(a.Result, b.Result) && same(a.Extra, b.Extra)
}

// TestModulesInAnyOrder: a module that is converted together with others, in any order and by
// several threads, gets the same BTF as alone, whichever variables are requested.
func TestModulesInAnyOrder(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := t.TempDir()
	plain := features.Default()
	full := plain.With(features.GlobalVar)
	bases := kernelOf(t, plain, dir)
	const modules = 12
	var paths []string
	for n := range modules {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("m%d.ko", n)))
		compile(t, paths[n], []string{"-r"}, module(n+1)...)
	}
	sizes := map[string]int{}
	for _, c := range []struct {
		name string
		set  features.Set
		v    variables
	}{
		{"default", plain, variables{}},
		{"percpu", full, variables{which: link.PerCPU}},
		{"all", full, variables{which: link.All}},
		{"apart", full, variables{apart: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []*Result
			conflicts := 0
			for _, path := range paths {
				result := linkAlone(t, c.set, path, bases, c.v)
				conflicts += min(1, result.Conflicts)
				want = append(want, result)
				sizes[c.name] += len(result.BTF)
			}
			if conflicts != modules/3 {
				t.Fatalf("%d of %d modules have conflicts, want a third", conflicts, modules)
			}
			inAnyOrder(t, c.set, paths, bases, c.v, want)
		})
	}
	if sizes["percpu"] != sizes["default"] || sizes["apart"] != sizes["default"] ||
		sizes["all"] <= sizes["default"] {
		t.Errorf("sizes: %v", sizes)
	}
}

// inAnyOrder makes the BTF of all modules in one Batch, several times, in random orders. Sometimes
// about half of the modules count as large.
func inAnyOrder(t *testing.T, set features.Set, paths []string, bases *base.Files, v variables,
	want []*Result) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	defer func(size int64) { largeFile = size }(largeFile)
	info := must.Get(os.Stat(paths[0]))(t)
	for round := range 10 {
		var batch Batch
		each := optionsFor(set, bases)
		each.Variables = v.which
		if v.apart {
			each.Passes = []Pass{Extra{}}
		}
		threads := 1 + round%3
		if round >= 5 {
			largeFile, each.Convert.Jobs = info.Size(), 2*threads
		}
		order := append(r.Perm(len(paths)), r.Perm(len(paths))...)
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				for i := thread; i < len(order); i += threads {
					n := order[i]
					got, err := batch.Linked(paths[n], each)
					if err != nil || !sameResult(got, want[n]) {
						t.Errorf("round %d, %d threads: module %d differs from linkAlone (%v)", round, threads,
							n, err)
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestPanic: if one module causes a panic, each of the others gets the same BTF as alone.
func TestPanic(t *testing.T) {
	dir := t.TempDir()
	set := features.Default()
	bases := kernelOf(t, set, dir)
	var paths []string
	var want []*Result
	for n := range 6 {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("m%d.ko", n)))
		compile(t, paths[n], []string{"-r"}, module(n+1)...)
		want = append(want, linkAlone(t, set, paths[n], bases, variables{}))
	}
	const planted = 2
	for jobs := range 4 {
		var batch Batch
		errs := parallel.Each(1+jobs, paths, func(i int) error {
			each := optionsFor(set, bases)
			if i == planted {
				each.Passes = []Pass{Change(func([]byte) ([]byte, error) { panic("planted") })}
			}
			got, err := batch.Linked(paths[i], each)
			if err == nil && !sameResult(got, want[i]) {
				err = errors.New("the result differs from linkAlone")
			}
			return err
		}, func(done, all int) {})
		for i, err := range errs {
			if i == planted && (err == nil || !strings.Contains(err.Error(), paths[i]+": internal error")) ||
				i != planted && err != nil {
				t.Errorf("-j%d: module %d: %v", 1+jobs, i, err)
			}
		}
	}
}
