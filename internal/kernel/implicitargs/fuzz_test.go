package implicitargs

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// FuzzRewrite: no BTF makes Rewrite panic, and its output can be parsed. The seeds are the inputs
// of TestRewrite.
func FuzzRewrite(f *testing.F) {
	for _, test := range rewriteTests {
		b := newBuilder(nil)
		test.make(b)
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
	})
}
