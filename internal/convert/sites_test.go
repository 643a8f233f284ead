package convert

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestKnownFunctions: if a file is converted again, all its inlined functions are found by the
// hashes of their prototypes, and none is described a second time.
func TestKnownFunctions(t *testing.T) {
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
	var shared Shared
	for round := range 2 {
		f, err := elf.Open(d.Path("a.o"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var found inlines.Sites
		_, err = File(f, Options{Features: features.Default(), Jobs: 1, Sites: &found, OnlyInlined: true,
			Shared: &shared})
		if err != nil {
			t.Fatal(err)
		}
		s := shared.idle[0].sites
		if len(s.functions) != 4 || found.Len() != 4 || round == 1 && len(s.made) != 0 {
			t.Errorf("round %d: %d sites of %d functions, of which %d are new", round, found.Len(),
				len(s.functions), len(s.made))
		}
	}
}
