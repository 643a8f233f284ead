package kabi

import (
	"bytes"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
)

// FuzzCompare: no BTF makes Compare panic, a kernel is compatible with itself, and a reference can
// be read again.
func FuzzCompare(f *testing.F) {
	for _, pair := range [][2]string{
		{"struct s { int a; union { long b; struct { int c, d; } rh_kabi_hidden_1; }; };",
			"struct s { int a; union { short b; }; struct { struct { int x:3, y; }; } z; };"},
		{"enum e { A, B }; struct s { enum e *e; int (*f)(struct s *, ...); };",
			"struct e; struct s { struct e *e; int (*f)(struct s *); };"},
	} {
		var data [2][]byte
		for i, src := range pair {
			b := compile(f, src+"void f(struct s *s) {} struct s v[3];")
			var err error
			if data[i], err = btf.Encode(b, btf.EncodeOptions{}); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(data[0], data[1])
	}
	f.Fuzz(func(t *testing.T, dataA, dataB []byte) {
		a, err := btf.Parse(dataA, nil)
		if err != nil {
			return
		}
		b, err := btf.Parse(dataB, nil)
		if err != nil {
			return
		}
		var list []Symbol
		for _, x := range []*btf.Blob{a, b} {
			for _, typ := range x.All() {
				if typ.Kind == btf.KindFunc || typ.Kind == btf.KindVar {
					list = append(list, Symbol{Name: x.TypeName(typ)})
				}
			}
		}
		compare := func(a, b *btf.Blob) *Report {
			r, _, err := Compare(FromSide(diff.Side{a}), FromSide(diff.Side{b}), [2]string{"A", "B"},
				Options{Symbols: list, Diff: diff.Options{Indirect: true}})
			if err != nil {
				return nil
			}
			return r
		}
		if r := compare(a, a); r != nil && r.Incompatible+r.Compatible > 0 {
			t.Errorf("compared with itself: %v", r)
		}
		r, back := compare(a, b), compare(b, a)
		if (r == nil) != (back == nil) || r != nil && r.Symbols != back.Symbols {
			t.Errorf("%v, but the other way round %v", r, back)
		}
		if ref, _, err := Reference(FromSide(diff.Side{a}), list, nil); err == nil {
			var text bytes.Buffer
			if btftext.Write(&text, ref) != nil {
				return // the BTF is not valid
			}
			if _, err := btftext.Read(text.Bytes()); err != nil {
				t.Errorf("%v\n%s", err, &text)
			}
		}
	})
}
