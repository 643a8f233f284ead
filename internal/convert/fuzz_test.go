package convert

import (
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// FuzzConvert converts arbitrary bytes, with limits on time and memory. The result must be an error
// or an object. If the object can be written, it must be readable.
func FuzzConvert(f *testing.F) {
	for _, data := range programtest.Seeds(f, "testdata/objects/*.o") {
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
		set := sets[len(data)/2%2]
		if len(data)%2 == 0 {
			set = set.With(features.SkipUnencodable)
		}
		var made *Result
		programtest.Bounded(t, len(data), 30*time.Second, 512<<20, func() {
			made, err = File(file, Options{Features: set, Jobs: 1, Want: Want(len(data) / 4 % 3)})
		})
		if err != nil {
			return
		}
		o, err := object.Merge(made.Object)
		must.OK(t, err)
		out, err := object.Write(o, 1)
		if err != nil {
			return
		}
		readObject(t, out)
	})
}
