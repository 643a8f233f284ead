package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// inlinedModule is the source of a module with sites of the module's functions, and of functions
// and types that modules or the kernel share.
func inlinedModule(n int) string {
	return header + fmt.Sprintf(`
		#define INLINE static inline __attribute__((always_inline))
		extern long outside(long, void *);
		INLINE long shared(struct driver *driver, int k) { return outside(k, driver); }
		struct own_%[1]d { long l[%[1]d]; };
		INLINE long own_%[1]d(struct own_%[1]d *o, long k) { return shared((void *)o, k) + k; }
		long (*pointer_%[1]d)(struct own_%[1]d *, long) = own_%[1]d; // own_%[1]d also has a symbol
		long use_%[1]d(struct own_%[1]d *o, struct driver *driver, long k)
		{ return own_%[1]d(o, k) + shared(driver, %[1]d) + own_%[1]d(o, -1); }
		#define LOCAL(name, type) int name##_%[1]d(int k) { \
			struct local { type a[%[1]d]; } l = { { k } }; \
			auto inline int nested(struct local *p) __attribute__((always_inline)); \
			inline int nested(struct local *p) { return outside(p->a[0], p); } \
			return nested(&l) + nested(0); }
		LOCAL(one, int)
		LOCAL(other, long)`, n+1)
}

// TestInlinedModules: the sites of a module that is converted together with others are the same as
// those that Inlined finds, and the module's own BTF is the same as without sites.
func TestInlinedModules(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := t.TempDir()
	set := features.Default()
	bases := kernelOf(t, set, dir)
	kernel := filepath.Join(dir, "kernel.btf")
	data, err := btf.Encode(bases.Last, btf.EncodeOptions{})
	if err == nil {
		err = os.WriteFile(kernel, data, 0o600)
	}
	must.OK(t, err)
	const modules = 8
	var paths []string
	var own, sites [][]byte
	for n := range modules {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("m%d.ko", n)))
		compile(t, paths[n], []string{"-r"}, inlinedModule(n))
		result := must.Get(Linked(paths[n], optionsFor(set, bases)))(t)
		own = append(own, result.BTF)
		how := optionsFor(set, nil)
		how.Convert.Jobs = 1 + n%3
		file := paths[n] + ".btf"
		must.OK(t, os.WriteFile(file, result.BTF, 0o600))
		alone := must.Get(Inlined(paths[n], &how, func() (err error) {
			how.Bases, err = base.Open([]string{kernel, file})
			return err
		}))(t)
		defer how.Bases.Close()
		b := must.Get(btf.Parse(alone.BTF, how.Bases.Last))(t)
		for i := range b.Types { // only functions that the module's BTF lacks
			x := &b.Types[i]
			if name := b.TypeName(x); x.Kind == btf.KindFunc && name != "shared" && name != "nested" {
				t.Errorf("module %d: %s is repeated", n, name)
			}
		}
		if alone.Counts.Sites < 5 || alone.Counts.Known < 5 {
			t.Errorf("module %d: %+v", n, alone.Counts)
		}
		sites = append(sites, alone.BTF)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		var batch Batch
		threads := 1 + round%3
		order := append(r.Perm(modules), r.Perm(modules)...)
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				for i := thread; i < len(order); i += threads {
					n := order[i]
					how := optionsFor(set, bases)
					how.Passes = []Pass{Sites{}}
					got, err := batch.Linked(paths[n], how)
					switch {
					case err != nil:
						t.Error(err)
					case !bytes.Equal(got.BTF, own[n]):
						t.Errorf("round %d: the BTF of module %d differs from that without sites", round, n)
					case !bytes.Equal(got.Inlined.BTF, sites[n]):
						t.Errorf("round %d: the sites of module %d differ", round, n)
					}
				}
			})
		}
		wg.Wait()
	}
}
