package link_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// makeSites makes the BTF of a file and that of its sites. It returns the number of sites, or an
// error if the file can't be converted.
func makeSites(t *testing.T, data []byte) (int, error) {
	t.Helper()
	b, n, err := sitesOf(t, data)
	if err != nil {
		return 0, err
	}
	boot := verify.Boot
	for _, v := range verify.Check(b, verify.Options{Only: &boot, Sorted: true}) {
		t.Errorf("the BTF of the sites is not valid: %v", v)
	}
	return n, nil
}

// sitesOf makes the BTF of a file's sites. It also returns the number of sites that were found.
func sitesOf(t *testing.T, data []byte) (*btf.Blob, int, error) {
	t.Helper()
	file, err := elf.Parse("input.o", data)
	if err != nil {
		return nil, 0, err
	}
	read, err := convert.File(file, convert.Options{Features: features.Default(), Jobs: 1,
		Want: convert.TypesAndSites})
	if err != nil {
		return nil, 0, err
	}
	o, sites := read.Object, read.Sites
	own, err := link.Link([]*object.Object{o}, link.Options{Features: features.Default(), Jobs: 1})
	if err != nil {
		return nil, 0, err
	}
	bases, err := new(base.Files).With(own.BTF)
	if err != nil {
		return nil, 0, err
	}
	whole := must.Get(bases.Whole("the test"))(t)
	made, err := link.Inlined(o, sites, whole.Functions, link.Options{Base: bases.Base,
		Features: features.Default(), Jobs: 1})
	if err != nil {
		return nil, 0, err
	}
	b, err := btf.Parse(made.BTF, bases.Last)
	must.OK(t, err)
	return b, sites.Len(), nil
}

// objectsWithDWARF returns object files from the tests of package convert.
func objectsWithDWARF(t testing.TB) (list [][]byte) {
	t.Helper()
	for _, data := range programtest.Seeds(t, "../convert/testdata/objects/*.o") {
		list = append(list, data)
	}
	return list
}

// compiledSites returns object files with sites of many kinds.
func compiledSites(t *testing.T) (list [][]byte) {
	d := programtest.NewDir(t)
	d.Write("a.c", `
		#define INLINE static inline __attribute__((always_inline))
		long outside(long, void *);
		struct pair { long a, b; };
		INLINE long leaf(long a, int k, struct pair p) { return outside(a + p.a, &p) + k; }
		INLINE long middle(struct pair *p, short s) { return leaf(p->a, s, *p) + leaf(s, -1, *p); }
		long top(struct pair *p, int n)
		{
			struct pair own = { n, 2 };
			long r = 0;
			for (int i = 0; i < n; i++)
				r += middle(p, i) + middle(&own, 3) + leaf(i, 7, own);
			return r;
		}
		long cold(struct pair *p) { return __builtin_expect(!p, 0) ? middle(p, 1) : middle(p, 2); }`)
	for _, flags := range []string{"-gdwarf-4", "-gdwarf-5"} {
		d.Run("cc", "-O2", "-w", flags, "-c", "-o", "a.o", "a.c")
		data := must.Get(os.ReadFile(d.Path("a.o")))(t)
		list = append(list, data)
	}
	return list
}

// TestSameFunction: functions with the same name and prototype are one function, even if they are
// from the same unit.
func TestSameFunction(t *testing.T) {
	d := programtest.NewDir(t)
	d.Write("a.cc", `
		#define INLINE static inline __attribute__((always_inline))
		extern "C" int outside(int);
		namespace a { INLINE int f(int x) { return outside(x); } }
		namespace b { INLINE int f(int x) { return outside(x + 1); } }
		INLINE int g(int x) { return outside(x + 2); }
		int top(int x) { return b::f(x) + g(x) + a::f(x) + g(x) + b::f(x); }`)
	d.Run("g++", "-O2", "-g", "-c", "-o", "a.o", "a.cc")
	data := must.Get(os.ReadFile(d.Path("a.o")))(t)
	b, n := must.Get2(sitesOf(t, data))(t)
	count := map[string]int{}
	functions := map[uint32]bool{}
	for _, s := range b.Sites {
		f, _ := b.ByID(s.Func)
		count[b.TypeName(f)]++
		functions[s.Func] = true
	}
	if n != 5 || count["f"] != 3 || count["g"] != 2 || len(functions) != 2 {
		t.Errorf("%d sites; by function: %v; %d functions", n, count, len(functions))
	}
}

// TestDamagedSites damages the debug sections of object files in many ways. The result is an error
// or valid BTF.
func TestDamagedSites(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all, failed := 0, 0
	for _, data := range slices.Concat(compiledSites(t), objectsWithDWARF(t)) {
		n, err := makeSites(t, data)
		if err != nil || n == 0 {
			continue
		}
		all += n
		file, err := elf.Parse("input.o", data)
		must.OK(t, err)
		for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_loclists", ".debug_loc",
			".debug_rnglists", ".debug_ranges", ".rela.debug_info", ".rela.debug_loclists"} {
			sec := file.Section(name)
			if sec == nil || sec.Size == 0 {
				continue
			}
			for range 100 {
				damaged := slices.Clone(data)
				for range 1 + r.IntN(4) {
					damaged[sec.Offset+r.Uint64N(sec.Size)] = byte(r.Uint32())
				}
				if _, err := makeSites(t, damaged); err != nil {
					failed++
				}
			}
		}
	}
	if all < 20 || failed < 20 {
		t.Errorf("%d sites, %d errors: the test tests hardly anything", all, failed)
	}
}

// FuzzInlined is like TestDamagedSites, for arbitrary bytes.
func FuzzInlined(f *testing.F) {
	for _, data := range objectsWithDWARF(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip()
		}
		programtest.Bounded(t, len(data), 20*time.Second, 0, func() { makeSites(t, data) })
	})
}
