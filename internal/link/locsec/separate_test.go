package locsec

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// source is BTF with sites of four functions, as in the test of resolve_btfids of Linux 7.4. Only
// the function inline_only is unknown to the rest of the kernel.
func source(order binary.ByteOrder, on *btf.Blob) *btf.Blob {
	b := btf.NewBuilder(order, on, nil)
	integer := uint32(1)
	if on == nil {
		integer = b.Int("int", 4, btf.IntSigned, 0)
	}
	result := b.Composite(btf.KindStruct, "inline_result", 4, false)
	proto, tagged := uint32(0), uint32(0)
	var funcs []uint32
	for i, name := range []string{"inline_only", "tagged", "outlined", "id_user"} {
		returns := integer
		if i == 0 {
			returns = result
		}
		two := []btf.Param{{NameOff: b.Name("a"), Type: integer}, {NameOff: b.Name("b"), Type: integer}}
		proto = b.FuncProto(returns, two...)
		funcs = append(funcs, b.Func(name, proto, btf.LinkageStatic))
		if name == "tagged" {
			tagged = funcs[i]
		}
	}
	b.Ref(btf.KindPtr, "", proto)
	b.DeclTag("test_tag", tagged, btf.DeclTagWhole)
	b.LocParam(8, btf.LocConst, 42, 0) // no LOC_PROTO has it
	b.LocProto()                       // no site has it
	at := b.LocProto(b.LocParam(4, btf.LocConst, 0x12345678), 0)
	var sites []btf.Site
	for _, f := range slices.Backward(funcs) {
		sites = append(sites, btf.Site{Func: f, LocProto: at, Offset: 128},
			btf.Site{Func: f, LocProto: at})
	}
	b.Locsec("inline.text", sites...)
	return b.Finish()
}

// list describes the types of b itself, in order.
func list(b *btf.Blob) string {
	var s []string
	for i := range b.Types {
		t := &b.Types[i]
		text := b.KindName(t)
		for id := range b.Refs(t) {
			to, in := b.ByID(*id)
			switch {
			case to == nil:
				text += " 0"
			case in.TypeName(to) != "":
				text += " " + in.TypeName(to)
			default:
				text += " " + to.Kind.String()
			}
		}
		s = append(s, text)
	}
	return strings.Join(s, "\n")
}

// TestSeparate: each type is where resolve_btfids puts it.
func TestSeparate(t *testing.T) {
	outlined := func(name string) bool { return name == "outlined" || name == "id_user" }
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, based := range []bool{false, true} {
			var on *btf.Blob
			own := "\nSTRUCT inline_result\nFUNC outlined FUNC_PROTO\nFUNC tagged FUNC_PROTO" +
				"\nDECL_TAG test_tag tagged"
			if based {
				b := btf.NewBuilder(order, nil, nil)
				b.Int("int", 4, btf.IntSigned, 0)
				on = b.Finish()
			} else {
				own = "\nSTRUCT inline_result\nINT int" + strings.TrimPrefix(own, "\nSTRUCT inline_result")
			}
			from := source(order, on)
			before := encode(t, from)
			s := must.Get(Separate(from, outlined))(t)
			if s.Base.Base != on || s.Order != order || s.Base.Order != order {
				t.Errorf("the bases or byte orders are wrong: %v, %v", s.Order, s.Base.Order)
			}
			const proto = "FUNC_PROTO int int int\n"
			want := proto + proto + proto + "PTR FUNC_PROTO\nFUNC id_user FUNC_PROTO" + own
			if got := list(s.Base); got != want {
				t.Errorf("%v, on a base: %v: the base has\n%s\nwant\n%s", order, based, got, want)
			}
			const at = " LOC_PROTO"
			want = "FUNC_PROTO inline_result int int\nLOC_PARAM\nLOC_PROTO\nLOC_PARAM\n" +
				"LOC_PROTO LOC_PARAM 0\nLOCSEC inline.text" +
				strings.Repeat(" id_user"+at, 2) + strings.Repeat(" outlined"+at, 2) +
				strings.Repeat(" tagged"+at, 2) + strings.Repeat(" inline_only"+at, 2) +
				"\nFUNC inline_only FUNC_PROTO"
			if got := list(s); got != want {
				t.Errorf("%v, on a base: %v: the split BTF has\n%s\nwant\n%s", order, based, got, want)
			}
			if strings.Contains(s.Base.Strings, "inline_only") || strings.Contains(s.Strings, "outlined") {
				t.Errorf("needless strings: %q, %q", s.Base.Strings, s.Strings)
			}
			for _, b := range []*btf.Blob{s, s.Base} {
				for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
					t.Error(v)
				}
			}
			if encode(t, from) != before {
				t.Error("the input has changed")
			}
		}
	}
}

// moved is a plain reading of the rule of Separate for the types of b: where needed is the set of
// ids to which a list of types leads.
func moved(b *btf.Blob, outlined func(string) bool) map[uint32]bool {
	needed := func(roots map[uint32]bool) map[uint32]bool {
		for more := true; more; {
			more = false
			for i := range b.Types {
				if !roots[b.StartID+uint32(i)] {
					continue
				}
				for id := range b.Refs(&b.Types[i]) {
					if *id >= b.StartID && !roots[*id] {
						roots[*id], more = true, true
					}
				}
			}
		}
		return roots
	}
	sites, rest := map[uint32]bool{}, map[uint32]bool{}
	for i := range b.Types {
		sites[b.StartID+uint32(i)] = b.Types[i].Kind.IsLocation()
	}
	needed(sites)
	for i := range b.Types {
		t, id := &b.Types[i], b.StartID+uint32(i)
		function := t.Kind == btf.KindFunc && !outlined(b.TypeName(t))
		rest[id] = !sites[id] || !function && t.Kind != btf.KindFuncProto && !t.Kind.IsLocation()
	}
	needed(rest)
	all := map[uint32]bool{}
	for i := range b.Types {
		if id := b.StartID + uint32(i); !rest[id] {
			all[id] = true
		}
	}
	return all
}

// TestSeparateRandom: for random BTF, Separate moves the types that the plain reading moves, and
// Join puts them back.
func TestSeparateRandom(t *testing.T) {
	total := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := btf.NewBuilder(nil, nil, nil)
		ids := map[btf.Kind][]uint32{btf.KindInt: {b.Int("int", 4, 0, 0)}}
		any := func(kinds ...btf.Kind) uint32 {
			var all []uint32
			for _, k := range kinds {
				all = append(all, ids[k]...)
			}
			if len(all) == 0 {
				return 0
			}
			return all[r.IntN(len(all))]
		}
		plain := []btf.Kind{btf.KindInt, btf.KindPtr, btf.KindStruct}
		for i := range 40 {
			name := fmt.Sprint("n", r.IntN(30))
			switch k := []btf.Kind{btf.KindPtr, btf.KindStruct, btf.KindFuncProto, btf.KindFunc,
				btf.KindFunc, btf.KindDeclTag, btf.KindLocParam, btf.KindLocProto}[r.IntN(8)]; k {
			case btf.KindPtr:
				ids[k] = append(ids[k], b.Ref(k, "", any(append(plain, btf.KindFuncProto)...)))
			case btf.KindStruct:
				ids[k] = append(ids[k], b.Composite(k, name, uint32(i), false,
					btf.Member{NameOff: b.Name("m"), Type: any(plain...)}))
			case btf.KindFuncProto:
				ids[k] = append(ids[k], b.FuncProto(any(plain...), btf.Param{NameOff: b.Name("p"),
					Type: any(plain...)}))
			case btf.KindFunc:
				if proto := any(btf.KindFuncProto); proto != 0 {
					ids[k] = append(ids[k], b.Func(name, proto, 0))
				}
			case btf.KindDeclTag:
				if f := any(btf.KindFunc); f != 0 && r.IntN(3) == 0 {
					b.DeclTag("tag", f, btf.DeclTagWhole)
				}
			case btf.KindLocParam:
				ids[k] = append(ids[k], b.LocParam(4, btf.LocReg, r.Uint32N(9)))
			case btf.KindLocProto:
				ids[k] = append(ids[k], b.LocProto(any(btf.KindLocParam)))
			}
		}
		var sites []btf.Site
		for range r.IntN(5) {
			if f, p := any(btf.KindFunc), any(btf.KindLocProto); f != 0 && p != 0 {
				sites = append(sites, btf.Site{Func: f, LocProto: p, Offset: r.Uint32N(99)})
			}
		}
		b.Locsec("inline.text", sites...)
		from := b.Finish()
		outlined := func(name string) bool { return name < "n2" }
		s := must.Get(Separate(from, outlined))(t)
		want := moved(from, outlined)
		total += len(want)
		if len(s.Types) != len(want) || len(s.Types)+len(s.Base.Types) != len(from.Types) {
			t.Fatalf("seed %d: %d types are moved, want %d", seed, len(s.Types), len(want))
		}
		var kinds, wanted []string
		for id := range want {
			x, _ := from.ByID(id)
			wanted = append(wanted, from.KindName(x))
		}
		for i := range s.Types {
			kinds = append(kinds, s.KindName(&s.Types[i]))
		}
		slices.Sort(kinds)
		slices.Sort(wanted)
		if !slices.Equal(kinds, wanted) {
			t.Fatalf("seed %d: %q are moved, want %q", seed, kinds, wanted)
		}
		sorted := func(b *btf.Blob) []string {
			lines := strings.Split(list(b), "\n")
			for i, line := range lines {
				words := strings.Fields(line) // the order of sites depends on ids
				slices.Sort(words)
				lines[i] = strings.Join(words, " ")
			}
			slices.Sort(lines)
			return lines
		}
		if got, want := sorted(Join(s)), sorted(from); !slices.Equal(got, want) {
			t.Fatalf("seed %d: joined again, there are\n%q\nwant\n%q", seed, got, want)
		}
	}
	if total < 1000 {
		t.Errorf("only %d types are moved", total)
	}
}

// TestSeparateDeep: a long chain of types takes no stack. Bad ids and names are errors.
func TestSeparateDeep(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	id := b.Int("int", 4, 0, 0)
	for range 50000 {
		id = b.Ref(btf.KindPtr, "", id)
	}
	b.Locsec("inline.text", btf.Site{Func: b.Func("f", b.FuncProto(id), 0), LocProto: b.LocProto()})
	never := func(string) bool { return false }
	s, err := Separate(b.Finish(), never)
	if err != nil || len(s.Base.Types) != 50001 || len(s.Types) != 4 {
		t.Errorf("%v: %d and %d types", err, len(s.Base.Types), len(s.Types))
	}
	b.Blob.Sites[0].Func = 99999
	if _, err := Separate(b.Blob, never); err == nil ||
		!strings.Contains(err.Error(), "LOCSEC refers to [99999], but the last type is") {
		t.Errorf("bad id: %v", err)
	}
	b.Blob.Sites[0].Func, b.Blob.Types[0].NameOff = 1, 1<<20
	if _, err := Separate(b.Blob, never); err == nil || !strings.Contains(err.Error(), "[1] INT: "+
		"string offset 1048576 is past the end") {
		t.Errorf("bad name: %v", err)
	}
	long := &btf.Blob{StartID: 1, Strings: "\x00" + strings.Repeat("x", 1000) + "\x00"}
	for i := range uint32(1000) {
		long.Types = append(long.Types, btf.Type{Kind: btf.KindInt, NameOff: i + 1})
	}
	if _, err := Separate(long, never); err == nil || !strings.Contains(err.Error(), "names overlap") {
		t.Errorf("overlapping names: %v", err)
	}
}
