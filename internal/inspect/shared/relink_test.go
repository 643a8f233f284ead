package shared

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

// TestRelinkedModules compares modules that were linked with a shared base (in the directory
// $RELINKED) with the same modules linked without it (in $MODULES). $SHARED_BASE is the shared
// base, and $BASE is the BTF of the kernel.
func TestRelinkedModules(t *testing.T) {
	dir := os.Getenv("RELINKED")
	if dir == "" {
		t.Skip("set BASE, SHARED_BASE, MODULES and RELINKED to BTF of a kernel and its modules")
	}
	chain, err := relocate.ReadBases([]string{os.Getenv("BASE"), os.Getenv("SHARED_BASE")})
	if err != nil {
		t.Fatal(err)
	}
	all := names(chain)
	for _, v := range verify.Check(chain, verify.Options{Sorted: true}) {
		t.Error(v)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.btf"))
	equal := 0
	for _, path := range files {
		b, err := btf.ReadOne(path, chain)
		if err != nil {
			t.Fatal(err)
		}
		a, err := btf.ReadOne(filepath.Join(os.Getenv("MODULES"), filepath.Base(path)), chain.Base)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
			if v.Rule != "no-types" {
				t.Error(path, v)
			}
		}
		own := byName{}
		for id := b.StartID; id < b.EndID(); id++ {
			own[key(b, id)] = append(own[key(b, id)], id)
		}
		found := func(k string) []uint32 { return slices.Concat(own[k], all[k]) }
		if gone := lost(a, b, found); gone != nil {
			t.Errorf("%s: lost %q", path, gone)
		} else {
			equal++
		}
	}
	t.Logf("%d of %d modules have all that they had", equal, len(files))
}
