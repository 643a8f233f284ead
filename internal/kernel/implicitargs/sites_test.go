package implicitargs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// addSites adds sites of two functions: inlined, which exists only there, and other, which b has.
// Their types are needed by other too.
func addSites(b *builder, other uint32) {
	proto, _ := b.Blob.ByID(other)
	inlined := b.Func("inlined", proto.SizeOrType, btf.LinkageStatic)
	at := b.LocProto(b.LocParam(4, btf.LocConst, 1), 0)
	b.Locsec("inline.init.text", btf.Site{Func: other, LocProto: at, Offset: 4})
	b.Locsec("inline.text", btf.Site{Func: other, LocProto: at, Offset: 8},
		btf.Site{Func: inlined, LocProto: b.LocProto(0, 0), Offset: 0xc},
		btf.Site{Func: inlined, LocProto: at, Offset: 0x10})
	b.Blob.SortSites()
}

// sitesText lists the sites in b, with an empty line before each section.
func sitesText(t *testing.T, b *btf.Blob) string {
	t.Helper()
	names := must.Get(dump.NamesOf(nil))(t)
	var out bytes.Buffer
	must.OK(t, dump.WriteSites(&out, b, nil, names, false))
	return out.String()
}

func checkValid(t *testing.T, what string, b *btf.Blob) {
	t.Helper()
	for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
		t.Errorf("%s: %v", what, v)
	}
}

// TestSites: BTF with sites has the same types after Rewrite and RewriteApart as BTF without them,
// and the sites are those of the input.
func TestSites(t *testing.T) {
	on := newBuilder(nil).Finish()
	outlined := func(name string) bool { return name != "inlined" }
	for _, test := range rewriteTests {
		for _, below := range []*btf.Blob{nil, on} {
			make := func(sites bool) *btf.Blob {
				b := newBuilder(below)
				test.make(b)
				other := b.kfunc("other", nil, b.num, b.plain)
				if sites {
					addSites(b, other)
				}
				return b.Finish()
			}
			want, err := Rewrite(make(false), test.kfuncs, 1)
			must.OK(t, err)
			from := make(true)
			data, sites, err := RewriteApart(from, test.kfuncs, outlined, 2)
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			if !bytes.Equal(data, want) {
				t.Errorf("%s: the types are not those of BTF without sites", test.name)
			}
			split := parse(t, sites, parse(t, data, below))
			checkValid(t, test.name, split)
			if got, want := sitesText(t, split), sitesText(t, from); got != want {
				t.Errorf("%s: the sites are\n%s\nwant\n%s", test.name, got, want)
			}
			if got := fmt.Sprint(signatures(split)); got != "[inlined(ab)]" {
				t.Errorf("%s: the functions with the sites are %s", test.name, got)
			}

			one, err := Rewrite(from, test.kfuncs, 1)
			must.OK(t, err)
			joined := parse(t, one, below)
			checkValid(t, test.name+", in one", joined)
			if got, want := sitesText(t, joined), sitesText(t, from); got != want {
				t.Errorf("%s: in one BTF, the sites are\n%s\nwant\n%s", test.name, got, want)
			}
			again, err := Rewrite(joined, test.kfuncs, 1)
			if err != nil || !bytes.Equal(again, one) {
				t.Errorf("%s: a second run changes something: %v", test.name, err)
			}
			data, sites2, err := RewriteApart(joined, test.kfuncs, outlined, 1)
			if err != nil || !bytes.Equal(data, want) || !bytes.Equal(sites, sites2) {
				t.Errorf("%s: from one BTF, the parts are different: %v", test.name, err)
			}
		}
	}
}

// TestSitesOfConflicts: a type that only an inlined function needs keeps its meaning if there are
// several types with its name.
func TestSitesOfConflicts(t *testing.T) {
	for _, first := range []string{"a", "b"} {
		b := newBuilder(nil)
		for _, member := range []string{first, string('a' + 'b' - first[0])} {
			s := b.Composite(btf.KindStruct, "twice", 4, false, btf.Member{NameOff: b.Name(member),
				Type: b.num})
			proto := b.FuncProto(0, btf.Param{NameOff: b.Name("p"), Type: b.Ref(btf.KindPtr, "", s)})
			b.Locsec("inline.text."+member, btf.Site{Func: b.Func("of_"+member, proto, 0),
				LocProto: b.LocProto(0)})
		}
		b.Fwd("twice", false)
		data, sites, err := RewriteApart(b.Finish(), nil, func(string) bool { return false }, 1)
		must.OK(t, err)
		split := parse(t, sites, parse(t, data, nil))
		found := 0
		for i := range split.Types {
			f := &split.Types[i]
			if f.Kind != btf.KindFunc {
				continue
			}
			proto, in := split.ByID(f.SizeOrType)
			pointer, _ := split.ByID(in.ParamsOf(proto)[0].Type)
			s, in := split.ByID(pointer.SizeOrType)
			member, _ := in.Name(in.MembersOf(s)[0].NameOff)
			if "of_"+member != split.TypeName(f) {
				t.Errorf("%s has the struct with the member %s", split.TypeName(f), member)
			}
			found++
		}
		if found != 2 {
			t.Errorf("%d functions", found)
		}
	}
}

// TestSharedPrototype: if an inlined function has the prototype that a kfunc gets without its
// implicit arguments, the prototype is only in the BTF without sites.
func TestSharedPrototype(t *testing.T) {
	for _, impl := range []bool{false, true} {
		b := newBuilder(nil)
		b.kfunc("k", []string{kfuncTag}, b.num, b.aux)
		if impl {
			b.kfunc("k_impl", nil, b.num, b.aux)
		}
		inlined := b.kfunc("inlined", nil, b.num)
		b.Locsec("inline.text", btf.Site{Func: inlined, LocProto: b.LocProto(0)})
		from := b.Finish()
		data, sites, err := RewriteApart(from, []string{"k"}, func(string) bool { return false }, 1)
		must.OK(t, err)
		base := parse(t, data, nil)
		split := parse(t, sites, base)
		if got := fmt.Sprint(signatures(base), signatures(split)); got !=
			"[k(a) bpf_kfunc/-1/false k_impl(ab)] [inlined(a)]" {
			t.Errorf("the functions are %s", got)
		}
		for i := range split.Types {
			if split.Types[i].Kind == btf.KindFuncProto {
				t.Errorf("[%d] is a second FUNC_PROTO", split.StartID+uint32(i))
			}
		}
		one, err := Rewrite(from, []string{"k"}, 1)
		must.OK(t, err)
		if raw, err := RewriteIfNeeded(from, []string{"k"}, 1); err != nil || !bytes.Equal(raw, one) {
			t.Errorf("RewriteIfNeeded: %d bytes, %v", len(raw), err)
		}
		if raw, err := RewriteIfNeeded(parse(t, one, nil), []string{"k"}, 1); raw != nil || err != nil {
			t.Errorf("RewriteIfNeeded, the second time: %d bytes, %v", len(raw), err)
		}
	}
}

// TestSitesOfKfuncs: a site with parameters that the function no longer has is an error.
func TestSitesOfKfuncs(t *testing.T) {
	b := newBuilder(nil)
	k := b.kfunc("k", []string{kfuncTag}, b.num, b.aux)
	b.Locsec("inline.text", btf.Site{Func: k, LocProto: b.LocProto(0, 0), Offset: 0x40})
	_, _, err := RewriteApart(b.Finish(), []string{"k"}, func(string) bool { return true }, 1)
	if err == nil || !strings.Contains(err.Error(), "LOCSEC inline.text: the function k was inlined, "+
		"but it has fewer parameters than the site at offset 0x40") {
		t.Error(err)
	}
	if _, err := Rewrite(b.Finish(), nil, 1); err != nil {
		t.Errorf("the kfunc isn't changed: %v", err)
	}
	b.Blob.Sites[0].Func = b.Var("v", b.num, 1)
	_, err = Rewrite(b.Finish(), nil, 1)
	if err == nil || !strings.Contains(err.Error(), "need VAR v, which is not a type or function") {
		t.Errorf("a site of a variable: %v", err)
	}
}
