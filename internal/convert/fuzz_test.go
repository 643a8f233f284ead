package convert

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// FuzzConvert converts arbitrary bytes, with limits on time and memory. The result must be an error
// or an object. If the object can be written, it must be readable.
func FuzzConvert(f *testing.F) {
	paths, err := filepath.Glob("testdata/objects/*.o")
	if err != nil || len(paths) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	sets := [2]features.Set{features.Default() | features.Of(features.GlobalVar), features.All()}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip()
		}
		file, err := elf.Parse("input.o", data)
		if err != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		set := sets[len(data)/2%2]
		if len(data)%2 == 0 {
			set = set.With(features.SkipUnencodable)
		}
		made, err := File(file, Options{Features: set, Jobs: 1, Want: Want(len(data) / 4 % 3)})
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if took > 30*time.Second {
			t.Errorf("%d bytes took %v", len(data), took)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 512<<20 {
			t.Errorf("for %d bytes of input, %d bytes were allocated", len(data), bytes)
		}
		if err != nil {
			return
		}
		o, err := object.Merge(made.Object)
		if err != nil {
			t.Fatal(err)
		}
		out, err := object.Write(o, 1)
		if err != nil {
			return
		}
		readObject(t, out)
	})
}
