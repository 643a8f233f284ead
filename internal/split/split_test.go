package split

import (
	"bytes"
	std "debug/dwarf"
	stdelf "debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
)

// objectsDir has files of many compilers, machines, linkers and of dwz.
const objectsDir = "../convert/testdata/objects"

// options are two ways to convert, which read different things.
var options = map[string]convert.Options{
	"default": {Features: features.Default(), Jobs: 1, SkipUnencodable: true},
	"all":     {Features: features.All(), Jobs: 1, SkipUnencodable: true},
}

// TestObjects converts files, and their shards, and wants the same objects.
func TestObjects(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(objectsDir, "*.[oe]*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no objects", err)
	}
	split := 0
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, err := convertAll(path, options["default"])
			if err != nil {
				if _, err2 := splitFile(t, path, 2, 1); err2 == nil {
					t.Errorf("it can be split, but not be converted: %v", err)
				} else if err.Error() != err2.Error() && !strings.Contains(err2.Error(), "(dwz -m)") &&
					!strings.Contains(err2.Error(), "split DWARF") { // which say that it isn't read
					t.Errorf("error %q, wanted %q", err2, err)
				}
				return
			}
			split++
			for name, opt := range options {
				if want, err = convertAll(path, opt); err != nil {
					t.Fatal(err)
				}
				for _, n := range []int{1, 2, 3, 7} {
					sameObject(t, fmt.Sprintf("%s, %d shards", name, n), path, n, opt, want)
				}
			}
		})
	}
	if split < 40 {
		t.Errorf("only %d files were split", split)
	}
}

// sameObject splits the file at path and wants that the shards' objects are an object.
func sameObject(t *testing.T, what, path string, shards int, opt convert.Options, want []byte) {
	t.Helper()
	files, err := splitFile(t, path, shards, 2)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := convertShards(files, opt)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: the object of the shards has other bytes (%d) than the file's (%d)", what,
			len(got), len(want))
	}
}

// splitFile returns the shards of the file at path.
func splitFile(t *testing.T, path string, shards, jobs int) ([][]byte, error) {
	t.Helper()
	inputs, err := elf.OpenInput(path)
	if err != nil {
		return nil, err
	}
	files := make([][]byte, shards)
	_, err = Split(inputs, Options{Shards: shards, Jobs: jobs}, func(i int, file []byte) error {
		files[i] = file
		return nil
	})
	return files, err
}

// convertShards returns the object of shards together.
func convertShards(files [][]byte, opt convert.Options) ([]byte, error) {
	var objects []*object.Object
	for i, file := range files {
		f, err := elf.Parse(fmt.Sprintf("shard %d", i+1), file)
		if err != nil {
			return nil, err
		}
		o, err := convert.File(f, opt)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return merged(objects)
}

// convertAll returns the object of the file at path, or of the archive's members.
func convertAll(path string, opt convert.Options) ([]byte, error) {
	inputs, err := elf.OpenInput(path)
	if err != nil {
		return nil, err
	}
	var objects []*object.Object
	for _, in := range inputs {
		f, err := in.Open()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		o, err := convert.File(f, opt)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return merged(objects)
}

func merged(objects []*object.Object) ([]byte, error) {
	o, err := object.Merge(objects...)
	if err != nil {
		return nil, err
	}
	return object.Write(o)
}

// TestShared wants the types of units to be shared, but for those of a unit that defines a tag
// twice.
func TestShared(t *testing.T) {
	for name, wantLists := range map[string]int{"gcc": 3, "gcc, values": 2, "gcc -O0": 3} {
		t.Run(name, func(t *testing.T) {
			_, linked := programs[name].build(t, t.TempDir())
			files, err := splitFile(t, linked, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			f, err := stdelf.NewFile(bytes.NewReader(files[0]))
			if err != nil {
				t.Fatal(err)
			}
			d, err := f.DWARF()
			if err != nil {
				t.Fatal(err)
			}
			lists, definitions := 0, map[string]int{}
			for r := d.Reader(); ; {
				e, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if e == nil {
					break
				}
				if e.Tag == std.TagImportedUnit && e.Val(std.AttrConstValue) != nil {
					lists++
				}
				name, _ := e.Val(std.AttrName).(string)
				if e.Tag == std.TagStructType && e.Val(std.AttrDeclaration) == nil {
					definitions[name]++
				}
			}
			if lists != wantLists {
				t.Errorf("%d units share types, not %d", lists, wantLists)
			}
			// All three units have it; one of them also passes it by value.
			if name == "gcc" && definitions["device"] != 2 {
				t.Errorf("struct device is there %d times, not 2", definitions["device"])
			}
		})
	}
}

// TestShardOfShard refuses to split a shard.
func TestShardOfShard(t *testing.T) {
	files, err := splitFile(t, filepath.Join(objectsDir, "whole-gcc.elf"), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shard")
	if err := os.WriteFile(path, files[0], 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = splitFile(t, path, 2, 1)
	if err == nil || !strings.Contains(err.Error(), "the file is a shard") {
		t.Errorf("error %v", err)
	}
}

// TestThreads wants the same shards whatever the number of threads.
func TestThreads(t *testing.T) {
	for _, name := range []string{"dwz.elf", "lto-linked-clang.elf", "whole-thin-clang.elf"} {
		path := filepath.Join(objectsDir, name)
		one, err := splitFile(t, path, 5, 1)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			many, err := splitFile(t, path, 5, 4)
			if err != nil {
				t.Fatal(err)
			}
			for i := range one {
				if !bytes.Equal(one[i], many[i]) {
					t.Errorf("%s: shard %d depends on the number of threads", name, i+1)
				}
			}
		}
	}
}

// TestKernel splits the file with DWARF named by SPLIT_ELF, such as a vmlinux.
func TestKernel(t *testing.T) {
	path := os.Getenv("SPLIT_ELF")
	if path == "" {
		t.Skip("set SPLIT_ELF to an ELF file with DWARF")
	}
	opt := convert.Options{Features: features.Default() | features.Of(features.GlobalVar), Jobs: 2,
		SkipUnencodable: true}
	want, err := convertAll(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 8, 64} {
		sameObject(t, fmt.Sprintf("%d shards", n), path, n, opt, want)
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
