package locsec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// base is the BTF of a file: it has the function f.
func base() *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	b.FuncProto(0, btf.Param{NameOff: b.Name("p"), Type: 2}) // 1
	b.Func("f", 1, 0)                                        // 2
	b.Int("int", 4, btf.IntSigned, 0)                        // 3
	b.Blob.Params[0].Type = 3
	return b.Finish()
}

// split has functions with names before and after those of the LOCSECs.
func split(on *btf.Blob) *btf.Blob {
	b := btf.NewBuilder(nil, on, nil)
	b.FuncProto(0, btf.Param{NameOff: b.Name("first"), Type: 3},
		btf.Param{NameOff: b.Name("second"), Type: 3}) // 4
	b.Func("a", 4, 0)  // 5
	b.Func("in", 4, 0) // 6
	b.Func("z", 4, 0)  // 7
	blob := b.Finish()
	list := strings.Split(strings.TrimSuffix(blob.Strings, "\x00"), "\x00")
	old := slices.Clone(list)
	slices.Sort(list)
	at := func(off uint32) uint32 {
		n := blob.BaseStrLen
		name := ""
		for _, s := range old {
			if n == off {
				name = s
			}
			n += uint32(len(s)) + 1
		}
		n = blob.BaseStrLen
		for _, s := range list {
			if s == name {
				return n
			}
			n += uint32(len(s)) + 1
		}
		return off
	}
	sorted := &btf.Blob{Base: on, StartID: blob.StartID, BaseStrLen: blob.BaseStrLen,
		Strings: strings.Join(list, "\x00") + "\x00"}
	for i := range blob.Types {
		sorted.Copy(blob, &blob.Types[i], at, func(id uint32) uint32 { return id })
	}
	return sorted
}

// sites are the sites of these functions, in a random order: functions by index in ids.
func sites(r *rand.Rand, sections []string, more int) *inlines.Sites {
	s := &inlines.Sites{File: inlines.File{Sections: append([]string{""}, sections...)}}
	s.Units = make([]inlines.UnitSites, 3)
	location := func(n uint32) uint32 {
		return s.AddLocation(inlines.Location{Size: 4, Flags: btf.LocReg, Count: 1, Values: [3]uint32{n}})
	}
	s.AddProto([]uint32{location(99)}) // no site has it
	type site struct{ function, section, offset, reg uint32 }
	var list []site
	for i := range uint32(more) {
		list = append(list, site{i % 4, 1 + min(i%5, uint32(len(sections))-1), i / 8, i / 3 % 5})
	}
	list = append(list, list...) // each site twice
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, x := range list {
		params := []uint32{location(x.reg)}
		if x.function > 0 { // not f
			params = append(params, 0)
		}
		u := &s.Units[1+r.IntN(2)]
		u.List = append(u.List, inlines.Site{Function: x.function, Section: x.section, Offset: x.offset,
			Proto: s.AddProto(params)})
	}
	return s
}

// ids are the ids of the functions, by unit.
var ids = [][]uint32{nil, {2, 5, 6, 7}, {2, 5, 6, 7}}

func notInBase(string) uint32 { return 0 }

func encode(t *testing.T, b *btf.Blob) string {
	t.Helper()
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	return string(data)
}

// TestAdd: the result is valid and sorted, and doesn't depend on the order of the sites or on the
// number of threads. It has each site once.
func TestAdd(t *testing.T) {
	on := base()
	from := split(on)
	for _, sections := range [][]string{{".text"}, {".text", ".exit.text", ".init.text"},
		{"Z", "zz"}} {
		for _, n := range []int{0, 1, 60, fewSites} {
			var want string
			for seed := range uint64(4) {
				s := sites(rand.New(rand.NewPCG(seed, 1)), sections, n)
				b, counts := Sort(s).List(ids, 1+int(seed)).Add(from, notInBase)
				got := encode(t, b)
				if want == "" {
					want = got
				}
				if got != want {
					t.Fatalf("%q, %d sites: the bytes depend on the order", sections, n)
				}
				if counts.Sites != uint64(n) || counts.Known != uint64(n) {
					t.Errorf("%q, %d sites: %+v", sections, n, counts)
				}
				if seed > 0 {
					continue
				}
				for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
					t.Errorf("%q, %d sites: %v", sections, n, v)
				}
				checkAdded(t, b, sections, n)
			}
		}
	}
}

// checkAdded checks the names of the types and the numbers of the sites.
func checkAdded(t *testing.T, b *btf.Blob, sections []string, n int) {
	t.Helper()
	var names []string
	total := 0
	for i := range b.Types {
		x := &b.Types[i]
		if x.Kind == btf.KindFunc || x.Kind == btf.KindLocsec {
			names = append(names, b.TypeName(x))
		}
		if x.Kind == btf.KindLocsec {
			total += len(b.SitesOf(x))
		}
		if x.Kind == btf.KindFuncProto {
			if p := b.ParamsOf(x); fmt.Sprint(name(b, p[0]), name(b, p[1])) != "firstsecond" {
				t.Errorf("the parameters are %s and %s", name(b, p[0]), name(b, p[1]))
			}
		}
	}
	want := []string{"a", "in", "z"}
	for i, s := range sections {
		if i < n {
			want = append(want, "inline"+s)
		}
	}
	slices.Sort(want)
	if !slices.Equal(names, want) || total != n {
		t.Errorf("%q: the names are %q, and there are %d sites; want %q, %d", sections, names, total,
			want, n)
	}
}

func name(b *btf.Blob, p btf.Param) string {
	s, err := b.Name(p.NameOff)
	if err != nil {
		return err.Error()
	}
	return s
}

// TestNameInBase: a LOCSEC whose name is in the base uses the base's string.
func TestNameInBase(t *testing.T) {
	from := split(base())
	s := sites(rand.New(rand.NewPCG(1, 1)), []string{".text"}, 3)
	b, _ := Sort(s).List(ids, 1).Add(from, func(name string) uint32 {
		if name != "inline.text" {
			t.Errorf("asked for %q", name)
		}
		return 3
	})
	if b.Strings != from.Strings {
		t.Errorf("the strings are %q, want %q", b.Strings, from.Strings)
	}
	for i := range b.Types {
		if x := &b.Types[i]; x.Kind == btf.KindLocsec && x.NameOff != 3 {
			t.Errorf("the name is at %d", x.NameOff)
		}
	}
}

// TestJoin: the joined BTF is valid, and has all types.
func TestJoin(t *testing.T) {
	on := base()
	s := sites(rand.New(rand.NewPCG(1, 1)), []string{".text", ".init.text"}, 40)
	b, _ := Sort(s).List(ids, 1).Add(split(on), notInBase)
	all := Join(b)
	for _, v := range verify.Check(all, verify.Options{Sorted: true}) {
		t.Error(v)
	}
	if len(all.Types) != len(on.Types)+len(b.Types) || len(all.Sites) != len(b.Sites) {
		t.Errorf("%d types, %d sites", len(all.Types), len(all.Sites))
	}
	count := func(b *btf.Blob) map[string]int {
		functions := map[string]int{}
		for _, s := range b.Sites {
			f, _ := b.ByID(s.Func)
			functions[fmt.Sprint(b.TypeName(f), s.Offset)]++
		}
		return functions
	}
	if got, want := fmt.Sprint(count(all)), fmt.Sprint(count(b)); got != want {
		t.Errorf("sites %s\nwant %s", got, want)
	}
}
