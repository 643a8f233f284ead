package implicitargs

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// FuzzRewrite: no BTF makes Rewrite panic, and its output can be parsed. The seeds are the inputs
// of TestRewrite.
func FuzzRewrite(f *testing.F) {
	for i, test := range rewriteTests {
		b := newBuilder(nil)
		test.make(b)
		if i%2 == 0 {
			addSites(b, b.kfunc("other", nil, b.num, b.plain))
		}
		data, err := b.Encode(btf.EncodeOptions{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	names := []string{"attribute", "k", "m", "parameter", "untagged"}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := btf.Parse(data, nil)
		if err != nil {
			return
		}
		Left(b, names)
		out, err := Rewrite(b, names, 1)
		if err != nil {
			return
		}
		if _, err := btf.Parse(out, nil); err != nil {
			t.Fatal(err)
		}
		out, sites, err := RewriteApart(b, names, func(name string) bool { return len(name)%2 == 0 }, 1)
		if err != nil {
			t.Fatal(err)
		}
		below, err := btf.Parse(out, nil)
		if err != nil || (sites != nil) != b.HasLocations() {
			t.Fatalf("%v, %d bytes of sites", err, len(sites))
		}
		if sites != nil {
			if _, err = btf.Parse(sites, below); err != nil {
				t.Fatal(err)
			}
		}
	})
}
