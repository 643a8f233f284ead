package diff

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// inlined makes BTF with two functions that were inlined at the given sites: Func is 0 or 1, and
// LocProto is the register with the first parameter.
func inlined(result uint32, sites ...btf.Site) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)
	b.Int("long", 8, btf.IntSigned, 0)
	proto := b.FuncProto(result, btf.Param{NameOff: b.Name("a"), Type: 1})
	f := b.Func("f", proto, btf.LinkageStatic)
	b.Func("g", proto, btf.LinkageStatic)
	for i := range sites {
		sites[i].Func += f
		sites[i].LocProto = b.LocProto(b.LocParam(4, btf.LocReg, sites[i].LocProto))
	}
	b.Locsec("inline.text", sites...)
	return b.Finish()
}

// TestSites compares sites of inlined functions.
func TestSites(t *testing.T) {
	site := func(f, reg, offset uint32) btf.Site {
		return btf.Site{Func: f, LocProto: reg, Offset: offset}
	}
	const others = "differs: locsec inline.text: 2 sites on both sides, but with other functions, " +
		"offsets or locations"
	a := inlined(1, site(0, 1, 16), site(1, 2, 32))
	for _, c := range []struct {
		name string
		b    *btf.Blob
		want string
	}{
		{"equal", inlined(1, site(0, 1, 16), site(1, 2, 32)), ""},
		{"one more", inlined(1, site(0, 1, 16), site(1, 2, 32), site(1, 2, 48)),
			"differs: locsec inline.text: size 2 sites vs 3 sites"},
		{"another offset", inlined(1, site(0, 1, 20), site(1, 2, 32)), others},
		{"another register", inlined(1, site(0, 1, 16), site(1, 3, 32)), others},
		{"another result", inlined(2, site(0, 1, 16), site(1, 2, 32)),
			"differs: func f: return: type int vs long; differs: func g: return: type int vs long"},
	} {
		list, summary := Compare(Side{a}, Side{c.b}, Options{})
		var got []string
		for _, d := range list {
			got = append(got, d.String())
			if d.Kind == "locsec" && !d.Compatible {
				t.Errorf("%s: not compatible", c.name)
			}
		}
		if s := strings.Join(got, "; "); s != c.want || summary.Same() != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		if !equal(a, shuffled(a, rnd, 3)) {
			t.Fatal("the order of the types matters")
		}
	}
	// on request, locations are compared as such
	list, _ := Compare(Side{a}, Side{inlined(1, site(0, 1, 16), site(1, 3, 32))},
		Options{Kinds: []btf.Kind{btf.KindLocParam, btf.KindLocProto}})
	if len(list) != 4 {
		t.Error(list)
	}
}
