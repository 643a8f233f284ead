package kabi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestPaths: the path to each type is the shortest one, and the counts are right.
func TestPaths(t *testing.T) {
	b := must.Get(FromSide(diff.Side{compile(t, `
		struct leaf { int x; };
		typedef struct leaf leaf_t;
		union u { long l; };
		struct ring;
		struct part { struct ring *ring; };
		struct ring { struct ring *next; struct { int a; union { struct part part; }; } in; };
		struct far { leaf_t *leaves[4]; void (*call)(union u *, const struct ring *); };
		void zeta(struct far *f) {}
		void alpha(struct far *f) {}
		int near(const volatile leaf_t *l) { return 0; }
		struct ring *var;
		typedef struct { struct far far; } anonymous;
		void by_typedef(anonymous *a) {}`)}).Reduce(
		symbols(t, "alpha zeta near var by_typedef"), func(string) bool { return false }))(t)
	r := newReached(b)
	var lines []string
	for id, x := range b.All() {
		if r.isStep(id) || x.Kind == btf.KindTypedef || x.Kind == btf.KindFunc {
			lines = append(lines, fmt.Sprintf("%d %s: %s", r.count(id), title(b, x), r.path(id)))
		}
	}
	want := `
3 struct far: alpha → struct far
4 struct leaf: near → struct leaf
4 struct part: var → struct ring.in.part → struct part
4 struct ring: var → struct ring
3 union u: alpha → struct far.call → union u
1 typedef anonymous: by_typedef → typedef anonymous
4 typedef leaf_t: near → typedef leaf_t
1 func alpha: alpha
1 func by_typedef: by_typedef
1 func near: near
1 func zeta: zeta`
	got := "\n" + strings.Join(lines, "\n")
	for _, line := range strings.Split(want, "\n") {
		if !strings.Contains(got+"\n", line+"\n") {
			t.Errorf("no %q in %s", line, got)
		}
	}
}
