package encode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link/base"
)

// header is what vmlinux and the modules include. In some of them a macro changes a struct, so that
// what it means, and all that leads to it, conflicts with vmlinux.
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

// module is the source of module number n: a file of its own, and one such as modpost's.
func module(n int) []string {
	own := ""
	if n%3 == 0 {
		own = "#define FIELD long\n"
	}
	return []string{
		own + header + fmt.Sprintf(`struct own { struct device *device; char name[%d]; };
			int probe_%d(struct own *own, struct lone *lone) { return own->name[lone->flags]; }`, n, n),
		header + fmt.Sprintf("struct device *made_%d; struct lone lone_%d;", n, n),
	}
}

// compile makes of sources, joined by a linker, the file at path.
func compile(t *testing.T, path string, link []string, sources ...string) {
	t.Helper()
	args := append(link, "-o", path)
	for i, text := range sources {
		c, o := fmt.Sprintf("%s.%d.c", path, i), fmt.Sprintf("%s.%d.o", path, i)
		if err := os.WriteFile(c, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		command(t, "gcc", "-g", "-O1", "-w", "-fno-pic", "-fno-eliminate-unused-debug-types", "-c",
			"-o", o, c)
		args = append(args, o)
	}
	command(t, "ld", args...)
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestModulesInAnyOrder: modules that are made together, in any order and by several threads, are
// to the byte what each of them is alone.
func TestModulesInAnyOrder(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	env := &cli.Env{Stderr: os.Stderr}
	env.Features = features.Default()
	vmlinux := filepath.Join(dir, "vmlinux")
	compile(t, vmlinux, []string{"-e", "0"}, header+"struct device *d; struct lone l;"+
		"int start(struct driver *driver, struct lone *lone) { return lone->more; }")
	result, err := new(Flags).File(env, vmlinux, &base.Files{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	bases := &base.Files{}
	if bases.BTF, err = btf.Parse(result.BTF, nil); err != nil {
		t.Fatal(err)
	}
	if bases.Base, err = base.Parse(bases.BTF); err != nil {
		t.Fatal(err)
	}
	const modules = 12
	var paths []string
	var want [][]byte
	conflicts := 0
	for n := range modules {
		path := filepath.Join(dir, fmt.Sprintf("m%d.ko", n))
		compile(t, path, []string{"-r"}, module(n+1)...)
		alone, err := new(Flags).File(env, path, bases, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		conflicts += min(1, alone.Conflicts)
		paths, want = append(paths, path), append(want, alone.BTF)
	}
	if conflicts != modules/3 {
		t.Fatalf("%d of %d modules have conflicts, want a third", conflicts, modules)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		var flags Flags
		threads := 1 + round%3
		order := append(r.Perm(modules), r.Perm(modules)...)
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				for i := thread; i < len(order); i += threads {
					n := order[i]
					got, err := flags.Module(env, paths[n], bases)
					if err != nil || !bytes.Equal(got.BTF, want[n]) {
						t.Errorf("round %d, %d threads: module %d is not as it is alone (%v)", round, threads,
							n, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
