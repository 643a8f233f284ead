package convert

import (
	"bytes"
	"maps"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// inlinedFile compiles a file with sites of four functions.
func inlinedFile(t *testing.T) string {
	d := programtest.NewDir(t)
	d.Write("a.c", `
		#define INLINE static inline __attribute__((always_inline))
		struct pair { long a; struct pair *p; };
		typedef struct { int x; } anonymous;
		extern void *outside(long, ...);
		INLINE void none(void) { outside(1); }
		INLINE struct pair *two(struct pair *p, const anonymous a) { return outside(a.x, p); }
		INLINE long more(long (*f)(struct pair, ...), char c) { return f((struct pair){ c, 0 }, 1); }
		long top(struct pair *p, anonymous a, void *f)
		{ none(); outside(0, two(p, a)); return more(f, 3); }
		INLINE int rest(int n, ...) { outside(n); return n; }
		int bottom(int n) { return rest(n, 1, n); }`)
	d.Run("gcc", "-O2", "-g", "-c", "-o", "a.o", "a.c")
	return d.Path("a.o")
}

// TestSitesApart: the object is the same with and without sites. The functions of the sites are in
// its graph, but in none of its units.
func TestSitesApart(t *testing.T) {
	path := inlinedFile(t)
	for _, shared := range []*Shared{nil, {}} {
		convertWith := func(want Want) *Result {
			f, err := elf.Open(path)
			must.OK(t, err)
			defer f.Close()
			r, err := File(f, Options{Features: features.Default(), Jobs: 1, Shared: shared, Want: want})
			must.OK(t, err)
			return r
		}
		plain, both := convertWith(Types), convertWith(TypesAndSites)
		if !bytes.Equal(written(t, both.Object), written(t, plain.Object)) {
			t.Errorf("shared %v: the object differs from that without sites", shared != nil)
		}
		names := map[string]bool{}
		for _, id := range both.Sites.Units[0].Functions {
			n := both.Graph.Node(id)
			names[both.Graph.Name(n)] = n.Kind == types.KindFunc
		}
		if want := map[string]bool{"none": true, "two": true, "more": true,
			"rest": true}; !maps.Equal(names, want) {
			t.Errorf("shared %v: functions %v, want %v", shared != nil, names, want)
		}
	}
}

// TestKnownFunctions: if a file is converted again, all its inlined functions are found by the
// hashes of their prototypes, and none is described a second time.
func TestKnownFunctions(t *testing.T) {
	path := inlinedFile(t)
	var shared Shared
	for round := range 2 {
		f := must.Get(elf.Open(path))(t)
		defer f.Close()
		found := must.Get(File(f, Options{Features: features.Default(), Jobs: 1, Want: OnlySites,
			Shared: &shared}))(t)
		s := shared.idle[0].sites
		if len(s.functions) != 4 || found.Sites.Len() != 4 || round == 1 && len(s.made) != 0 {
			t.Errorf("round %d: %d sites of %d functions, of which %d are new", round, found.Sites.Len(),
				len(s.functions), len(s.made))
		}
	}
}
