package stability

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/kernel/kbuild"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestSetOfKernel checks that the BTF linked from a kernel's objects depends only on the set of BTF
// objects.
func TestSetOfKernel(t *testing.T) {
	dir := harness.Kernel(t)
	tree := must.Get(kbuild.Read(dir, kbuild.Options{NoModules: true}))(t)
	setDecides(t, dir, "vmlinux", tree.Vmlinux.Objects, 3)
}

// setDecides converts the objects (paths in dir) one by one, and links the BTF objects. Then it
// makes the same BTF in other ways, and compares the bytes. The parameter trees is the number of
// random trees of merges to try.
func setDecides(t *testing.T, dir, linked string, objects []string, trees int) {
	btfgen, btfdedup := harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")
	work := t.TempDir()
	facts := filepath.Join(work, "facts")
	harness.MustRun(t, dir, btfgen, "facts", "-o", facts, linked)
	units := convertAll(t, btfgen, dir, objects, filepath.Join(work, "units"))

	link := func(t *testing.T, c harness.Command, jobs int, in []string) []byte {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out.btf")
		c.Argv = []string{btfdedup, "link", "-j", strconv.Itoa(jobs), "--facts", facts, "-o", out,
			harness.ParamFile(t, in)}
		c.Must(t)
		return harness.ReadFile(t, out)
	}
	want := link(t, harness.Command{}, 1, units)
	same := func(t *testing.T, got []byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			t.Errorf("different bytes: have %d of them, want %d", len(got), len(want))
		}
	}

	t.Run("one shot", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out.btf")
		for _, jobs := range []string{"1", "8"} {
			harness.MustRun(t, dir, btfgen, "elf", "-j", jobs, "-o", out, linked)
			same(t, harness.ReadFile(t, out))
		}
	})
	t.Run("again", func(t *testing.T) { same(t, link(t, harness.Command{}, 1, units)) })
	t.Run("linked again", func(t *testing.T) {
		// Linking the output again must give the same bytes.
		in := filepath.Join(t.TempDir(), "in.btf")
		harness.WriteFile(t, in, string(want))
		out := filepath.Join(t.TempDir(), "out.btf")
		harness.MustRun(t, "", btfdedup, "link", "-o", out, in)
		same(t, harness.ReadFile(t, out))
	})
	t.Run("8 threads, shuffled", func(t *testing.T) {
		random := rand.New(rand.NewSource(1))
		same(t, link(t, harness.Command{}, 8, shuffled(random, units)))
	})
	t.Run("elsewhere", func(t *testing.T) {
		// This link has different paths, a different working directory and a different environment.
		elsewhere := filepath.Join(t.TempDir(), "a", "much longer name of a directory")
		must.OK(t, os.MkdirAll(elsewhere, 0o777))
		var moved []string
		for i, u := range units {
			name := fmt.Sprintf("%d.btfo", len(units)-i)
			must.OK(t, os.Symlink(u, filepath.Join(elsewhere, name)))
			moved = append(moved, name)
		}
		same(t, link(t, harness.Command{Dir: elsewhere, Env: []string{
			"TMPDIR=" + t.TempDir(), "TZ=Asia/Tokyo", "LC_ALL=tr_TR.UTF-8", "HOME=/nowhere",
			"GOMAXPROCS=3", "GOGC=10", "SOURCE_DATE_EPOCH=1",
		}}, 2, moved))
	})
	t.Run("objects elsewhere", func(t *testing.T) {
		elsewhere := t.TempDir()
		random := rand.New(rand.NewSource(2))
		for _, i := range random.Perm(len(objects))[:min(25, len(objects))] {
			copied := filepath.Join(elsewhere, "renamed.o")
			harness.WriteFile(t, copied, string(harness.ReadFile(t, filepath.Join(dir, objects[i]))))
			harness.Command{Argv: []string{btfgen, "object", "-j8", "-o", "out.btfo", "renamed.o"},
				Dir: elsewhere,
				Env: []string{"TZ=Asia/Tokyo", "GOMAXPROCS=3", "TMPDIR=" + elsewhere}}.Must(t)
			if !bytes.Equal(harness.ReadFile(t, filepath.Join(elsewhere, "out.btfo")),
				harness.ReadFile(t, units[i])) {
				t.Errorf("%s: the BTF object differs if the object is in a different directory", objects[i])
			}
		}
	})
	for n := 0; n < trees; n++ {
		t.Run(fmt.Sprintf("random tree %d", n), func(t *testing.T) {
			random := rand.New(rand.NewSource(int64(100 + n)))
			same(t, link(t, harness.Command{}, 1+n, mergeTree(t, random, btfdedup, units)))
		})
	}
	t.Run("control: without one object", func(t *testing.T) {
		// The largest BTF object surely has a type that no other object has.
		biggest := 0
		for i, u := range units {
			if len(harness.ReadFile(t, u)) > len(harness.ReadFile(t, units[biggest])) {
				biggest = i
			}
		}
		less := append(append([]string{}, units[:biggest]...), units[biggest+1:]...)
		if bytes.Equal(link(t, harness.Command{}, 1, less), want) {
			t.Error("the same bytes without an object: this test compares nothing")
		}
	})
}

// convertAll runs "btfgen object" for each object, a few at a time. It returns the BTF objects in
// the order of the objects.
func convertAll(t *testing.T, btfgen, dir string, objects []string, out string) []string {
	t.Helper()
	units := make([]string, len(objects))
	errs := make([]error, len(objects))
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.NumCPU() {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range next {
				r, err := harness.Command{Argv: []string{btfgen, "object", "-j1", "-o", units[i], objects[i]},
					Dir: dir}.Run()
				if err == nil && r.Exit != 0 {
					err = fmt.Errorf("exit %d: %s", r.Exit, r.Stderr)
				}
				errs[i] = err
			}
		}()
	}
	must.OK(t, os.MkdirAll(out, 0o777))
	for i := range objects {
		units[i] = filepath.Join(out, fmt.Sprintf("%d.btfo", i))
		next <- i
	}
	close(next)
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("%s: %v", objects[i], err)
		}
	}
	return units
}

func shuffled(random *rand.Rand, in []string) []string {
	out := append([]string(nil), in...)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// mergeTree merges units in random groups, and then the results, until only a few are left. Some
// units may stay unmerged.
func mergeTree(t *testing.T, random *rand.Rand, btfdedup string, units []string) []string {
	t.Helper()
	dir := t.TempDir()
	level := shuffled(random, units)
	for n := 0; len(level) > 4; n++ {
		var above []string
		for i := 0; len(level) > 0; i++ {
			size := min(1+random.Intn(len(level)/3+2), len(level))
			group := level[:size]
			level = level[size:]
			if size == 1 && random.Intn(2) == 0 {
				above = append(above, group[0])
				continue
			}
			out := filepath.Join(dir, fmt.Sprintf("%d-%d.btfo", n, i))
			harness.MustRun(t, "", btfdedup, "merge", "-o", out, harness.ParamFile(t, group))
			above = append(above, out)
		}
		level = shuffled(random, above)
	}
	return level
}
