package statics

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// FuzzIdentify: no file makes Identify panic, and the facts can still be written and read
// afterwards. The seed is the program "one tag of several meanings".
func FuzzIdentify(f *testing.F) {
	data, err := os.ReadFile("testdata/like.elf")
	if err != nil {
		f.Fatal(err)
	}
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
		if err := known.Write(&text); err != nil {
			t.Fatal(err)
		}
		if _, err := facts.Parse(&text); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSeed: the seed is a file with variables to identify.
func TestSeed(t *testing.T) {
	file, err := elf.Open("testdata/like.elf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	set := features.Default()
	known, err := facts.Extract(file, facts.Options{Features: set})
	if err != nil {
		t.Fatal(err)
	}
	if err := Identify(file, known, set, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[any]bool{}
	for _, o := range known.Vars {
		seen[o.Definition] = true
	}
	if len(known.Vars) != 3 || len(seen) != 3 {
		t.Errorf("%+v", known.Vars)
	}
}
