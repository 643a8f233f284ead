package convert

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
)

// linkedSources links all sources of testdata that go together to one program.
func linkedSources(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	joined, linked := filepath.Join(dir, "joined.o"), filepath.Join(dir, "linked")
	args := []string{"-r", "--allow-multiple-definition", "-o", joined}
	for _, s := range sources(t) {
		if slices.Contains(s.flags, "-m32") || slices.ContainsFunc(s.flags,
			func(f string) bool { return strings.HasPrefix(f, "-flto") }) {
			continue
		}
		obj, _ := compile(t, s.path, s.flags...)
		args = append(args, obj)
	}
	run(t, dir, "ld", args...)
	linkObjects(t, linked, nil, joined)
	return linked
}

// written is the file of an object.
func written(t *testing.T, o *object.Object) []byte {
	t.Helper()
	data, err := object.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mergeFiles reads the files of objects and merges them.
func mergeFiles(t *testing.T, files [][]byte) *object.Object {
	t.Helper()
	m := object.NewMerger()
	for i, data := range files {
		if err := m.Add(fmt.Sprint(i), readObject(t, data)); err != nil {
			t.Fatal(err)
		}
	}
	return m.Object()
}

// TestParts converts linked files shard by shard, and unit by unit. Together the parts must give
// what the file as a whole gives, to the byte, before the link and after.
func TestParts(t *testing.T) {
	files := map[string]string{"sources": linkedSources(t)}
	for _, name := range []string{"lto-linked-gcc.elf", "lto-linked-clang.elf", "dwz.elf", "dwz-4.elf",
		"rust.o"} {
		files[name] = filepath.Join("testdata/objects", name)
	}
	for name, path := range files {
		t.Run(name, func(t *testing.T) {
			opt := Options{Features: features.Default(), Jobs: 2}
			if name == "rust.o" {
				opt.LangExclude = map[uint64]bool{0x1c: true} // DW_LANG_Rust: nothing is left
			}
			whole := convertFile(t, path, opt)
			want := written(t, whole)
			same := func(what string, parts [][]byte) {
				t.Helper()
				merged := mergeFiles(t, parts)
				if !bytes.Equal(written(t, merged), want) {
					t.Errorf("%s merged are another object than the whole file's", what)
				}
				if name == "rust.o" {
					return
				}
				direct, again := linkFile(t, path, "default"), linkTo(t, path, opt.Features, merged)
				if !bytes.Equal(direct.BTF, again.BTF) || !slices.Equal(direct.Skipped, again.Skipped) {
					t.Errorf("%s linked are another BTF than the whole file's", what)
				}
			}
			units := len(whole.Units)
			const many = 256
			var single [][]byte // of so many shards, those that have a unit
			for _, n := range []int{1, 2, 3, units, units + 3, many} {
				var parts [][]byte
				held := 0
				for i := range max(n, 1) {
					opt := opt
					opt.Shard = Shard{i + 1, max(n, 1)}
					o := convertFile(t, path, opt)
					held += len(o.Units)
					if n < many || len(o.Units) > 0 {
						parts = append(parts, written(t, o))
					}
				}
				if held != units {
					t.Errorf("%d shards have %d units, the file has %d", n, held, units)
				}
				if n == many {
					single = slices.Clone(parts)
				}
				slices.Reverse(parts)
				if len(parts) > 0 {
					same(fmt.Sprintf("%d shards", n), parts)
				}
			}

			for _, jobs := range []int{1, 3} {
				opt := opt
				opt.Jobs = jobs
				var mu sync.Mutex
				each := map[int][]byte{}
				opt.Each = func(number int, o *object.Object) error {
					data, err := object.Write(o)
					mu.Lock()
					defer mu.Unlock()
					each[number] = data
					return err
				}
				convertFile(t, path, opt)
				var parts [][]byte
				for _, number := range slices.Sorted(maps.Keys(each)) {
					parts = append(parts, each[number])
				}
				if len(parts) > 0 {
					same(fmt.Sprintf("the units on %d threads", jobs), parts)
				}
				if !slices.EqualFunc(parts, single, bytes.Equal) {
					t.Errorf("on %d threads the %d units' objects are not those of the %d shards "+
						"with one unit each", jobs, len(parts), len(single))
				}
			}
		})
	}
}

// TestShardsCover looks at the sizes of shards: contiguous, nothing twice, nothing left out, and
// none larger than its share and a unit.
func TestShardsCover(t *testing.T) {
	sizes := map[string][]uint64{
		"none":   nil,
		"one":    {7},
		"equal":  slices.Repeat([]uint64{50}, 100),
		"uneven": {1, 1, 1, 1000, 1, 1, 1, 500, 20, 20, 20},
		"large":  {1 << 61, 1 << 60, 1 << 61},
	}
	for name, list := range sizes {
		var units []*dwarf.Unit
		var all, largest uint64
		for _, n := range list {
			units = append(units, &dwarf.Unit{Len: n})
			all, largest = all+n, max(largest, n)
		}
		for _, n := range []int{1, 2, 3, 7, 100, 101, 1 << 30} {
			at := 0
			for i := 1; i <= min(n, 5000); i++ {
				if n > 5000 && i == 5000 {
					i = n
				}
				first, end := Shard{i, n}.of(units)
				var size uint64
				for _, u := range units[first:end] {
					size += u.Len
				}
				if n <= 5000 && first < end {
					if first != at {
						t.Errorf("%s: shard %d of %d begins with unit %d, the one before ends with %d", name, i, n,
							first, at)
					}
					at = end
				}
				if size > all/uint64(n)+largest {
					t.Errorf("%s: shard %d of %d has %d of %d bytes; the largest unit has %d", name, i, n, size,
						all, largest)
				}
			}
			if n <= 5000 && at != len(units) {
				t.Errorf("%s: %d shards end with unit %d of %d", name, n, at, len(units))
			}
		}
	}
}

func TestParseShard(t *testing.T) {
	for s, want := range map[string]Shard{"1/1": {1, 1}, "2/8": {2, 8}, "8/8": {8, 8}} {
		if got, err := ParseShard(s); got != want || err != nil {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "1", "/", "1/", "/2", "0/4", "5/4", "-1/4", "1/4/4",
		"1/99999999999", "a/b", " 1/4"} {
		if got, err := ParseShard(s); err == nil || !strings.Contains(err.Error(), "is not like 2/8") {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// TestShardOfSupplement is of files that have nothing but partial units, which no shard makes an
// input.
func TestShardOfSupplement(t *testing.T) {
	for _, name := range []string{"dwz-m-4.sup", "dwz-m-5.sup"} {
		f, err := elf.Open(filepath.Join("testdata/objects", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i := range 2 {
			_, err := File(f, Options{Features: features.Default(), Jobs: 1, Shard: Shard{i + 1, 2}})
			if err == nil || !strings.Contains(err.Error(), "partial units only") {
				t.Errorf("%s, shard %d of 2: %v", name, i+1, err)
			}
		}
	}
}

// TestUnits: Options.Units picks units by number, which are what they are among all.
func TestUnits(t *testing.T) {
	f, err := elf.Open(linkedSources(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	each := func(units ...int) map[int][]byte {
		var mu sync.Mutex
		out := map[int][]byte{}
		opt := Options{Features: features.Default(), Jobs: 2, SkipUnencodable: true, Units: units}
		opt.Each = func(i int, o *object.Object) error {
			data, err := object.Write(o)
			mu.Lock()
			defer mu.Unlock()
			out[i] = data
			return err
		}
		if _, err := File(f, opt); err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := each()
	some := each(5, 2)
	if len(all) < 6 || len(some) != 2 || !bytes.Equal(some[0], all[5]) ||
		!bytes.Equal(some[1], all[2]) {
		t.Errorf("%d of %d units, or not the right ones", len(some), len(all))
	}
}

// TestMergeRealObjects merges the objects of real files by package object's fast way and by its
// plain one.
func TestMergeRealObjects(t *testing.T) {
	dir := t.TempDir()
	var files []string
	plain := object.NewMerger()
	for _, s := range sources(t) {
		if slices.Contains(s.flags, "-m32") {
			continue
		}
		obj, _ := compile(t, s.path, s.flags...)
		o := convertFile(t, obj, Options{Features: features.Default(), Jobs: 1})
		data, err := object.Write(o)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, fmt.Sprint(len(files))))
		if err := os.WriteFile(files[len(files)-1], data, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := plain.Add(s.path, readObject(t, data)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := object.Write(plain.Object())
	if err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []int{1, 3} {
		o, err := object.MergeFiles(files, nil, jobs, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := object.Write(o); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d threads merge %d files into another object (%v)", jobs, len(files), err)
		}
	}
}
