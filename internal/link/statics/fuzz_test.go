package statics

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// FuzzIdentify: no file makes Identify panic, and the facts can still be written and read
// afterwards. The seed is the program "one tag of several meanings".
func FuzzIdentify(f *testing.F) {
	data := must.Get(os.ReadFile("testdata/like.elf"))(f)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := elf.Parse("input", data)
		if err != nil {
			return
		}
		set := features.Default()
		known, err := facts.Extract(file, facts.Options{Features: set})
		if err != nil || Identify(file, known, set, nil) != nil {
			return
		}
		var text bytes.Buffer
		must.OK(t, known.Write(&text))
		must.Get(facts.Parse(&text))(t)
	})
}

// TestSeed: the seed is a file with variables to identify.
func TestSeed(t *testing.T) {
	file := must.Get(elf.Open("testdata/like.elf"))(t)
	defer file.Close()
	set := features.Default()
	known := must.Get(facts.Extract(file, facts.Options{Features: set}))(t)
	must.OK(t, Identify(file, known, set, nil))
	seen := map[any]bool{}
	for _, o := range known.Vars {
		seen[o.Definition] = true
	}
	if len(known.Vars) != 3 || len(seen) != 3 {
		t.Errorf("%+v", known.Vars)
	}
}
