package implicitargs

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
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
		data := must.Get(b.Encode(btf.EncodeOptions{}))(f)
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
		must.Get(btf.Parse(out, nil))(t)
		out, sites, err := RewriteApart(b, names, func(name string) bool { return len(name)%2 == 0 }, 1)
		must.OK(t, err)
		below, err := btf.Parse(out, nil)
		if err != nil || (sites != nil) != b.HasLocations() {
			t.Fatalf("%v, %d bytes of sites", err, len(sites))
		}
		if sites != nil {
			must.Get(btf.Parse(sites, below))(t)
		}
	})
}
