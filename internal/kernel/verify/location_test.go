package verify_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// sites makes BTF with all forms of a location, and two sites of a function.
func sites() *btf.Builder {
	b := btf.NewBuilder(native, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)                                                        // 1
	b.FuncProto(0, btf.Param{NameOff: b.Name("a"), Type: 1}, btf.Param{NameOff: b.Name("b"), // 2
		Type: 1})
	b.Func("foo", 2, btf.LinkageStatic)                                   // 3
	b.LocParam(4, btf.LocReg, 1)                                          // 4
	b.LocParam(8, btf.LocReg|btf.LocDeref|btf.LocOffset, 2, 0x10)         // 5
	b.LocProto(4, 0)                                                      // 6
	b.LocProto(5, 4)                                                      // 7
	b.Locsec("inline.text", btf.Site{Func: 3, LocProto: 6, Offset: 0x40}, // 8
		btf.Site{Func: 3, LocProto: 7, Offset: 0x80})
	b.LocParam(16, btf.LocReg, 1, 2)
	b.LocParam(8, btf.LocReg|btf.LocDeref, 3)
	b.LocParam(8, btf.LocReg|btf.LocOffset|btf.LocSigned, btf.LocFrameBase, ^uint32(15))
	b.LocParam(8, btf.LocReg|btf.LocOffset|btf.LocDeref|btf.LocSigned, 7, 0, 1)
	b.LocParam(8, btf.LocConst|btf.LocAddr, 0x1000, 0)
	b.LocParam(8, btf.LocConst|btf.LocAddr|btf.LocSigned, 0x1000, 0)
	b.LocParam(4, btf.LocConst|btf.LocSigned, ^uint32(0))
	b.LocParam(2, btf.LocConst, 7, 0)
	return b
}

// TestSites checks each rule for sites of inlined functions (btf_loc_param_check_meta,
// btf_loc_proto_resolve, btf_locsec_check_meta and btf_locsec_resolve in kernel/bpf/btf.c).
func TestSites(t *testing.T) {
	param := func(size, flags uint32, values ...uint32) func(b *btf.Builder) {
		return func(b *btf.Builder) { b.LocParam(size, flags, values...) }
	}
	for _, c := range []struct {
		name string
		edit func(b *btf.Builder)
		want string // the violations' types, rules and scopes
	}{
		{"valid", func(*btf.Builder) {}, ""},
		{"many sites", func(b *btf.Builder) {
			b.Locsec("inline.init.text", repeat(btf.Site{Func: 3, LocProto: 6}, btf.MaxVlen+1)...)
		}, ""},
		{"a name", func(b *btf.Builder) { b.Blob.Types[3].NameOff = 1 }, "4 name-unexpected 0"},
		{"a kind flag", func(b *btf.Builder) { b.Blob.Types[5].KFlag = true }, "6 kind-flag 0"},
		{"no size", param(0, btf.LocReg, 1), "17 location-size 0"},
		{"large", param(17, btf.LocReg, 1), "17 location-size 0"},
		{"a large constant", param(16, btf.LocConst, 1, 2), "17 location-size 0"},
		{"no values", param(4, btf.LocReg), "17 location-values 0"},
		{"a constant without its high word", param(8, btf.LocConst, 1), "17 location-values 0"},
		{"three registers", param(8, btf.LocReg, 1, 2, 3), "17 location-values 0"},
		{"two registers to follow", param(8, btf.LocReg|btf.LocDeref, 1, 2), "17 location-values 0"},
		{"no offset", param(8, btf.LocReg|btf.LocOffset, 1), "17 location-values 0"},
		{"a long offset", param(8, btf.LocReg|btf.LocOffset, 1, 2, 3, 4), "17 location-values 0"},
		{"no flags", param(8, 0, 1), "17 location-flags 0"},
		{"unknown flags", param(8, 0x40|btf.LocReg, 1), "17 location-flags 0"},
		{"a signed register", param(8, btf.LocReg|btf.LocSigned, 1), "17 location-flags 0"},
		{"only an address", param(8, btf.LocAddr, 1, 2), "17 location-flags 0"},
		{"a register and a constant", param(8, btf.LocReg|btf.LocConst, 1, 2), "17 location-flags 0"},
		{"a type that isn't a location", func(b *btf.Builder) { b.LocProto(1) },
			"17 location-param 1"},
		{"a parameter that doesn't exist", func(b *btf.Builder) { b.LocProto(99) }, "17 type-id 1"},
		{"a LOC_PROTO with a size", func(b *btf.Builder) { b.Blob.Types[5].SizeOrType = 1 },
			"6 size-unexpected 1"}, // and [8], which needs it, isn't checked
		{"a LOCSEC with a size", func(b *btf.Builder) { b.Blob.Types[7].SizeOrType = 1 },
			"8 size-unexpected 1"},
		{"no section", func(b *btf.Builder) { b.Blob.Types[7].NameOff = 0 }, "8 name-invalid 0"},
		{"a site without a function", func(b *btf.Builder) { b.Blob.Sites[0].Func = 0 }, "8 void 0"},
		{"a site without parameters", func(b *btf.Builder) { b.Blob.Sites[1].LocProto = 0 },
			"8 void 0"},
		{"a site of a type", func(b *btf.Builder) { b.Blob.Sites[0].Func = 1 }, "8 site-func 1"},
		{"a site with a function's parameters", func(b *btf.Builder) { b.Blob.Sites[0].LocProto = 2 },
			"8 site-proto 1"},
		{"another number of parameters", func(b *btf.Builder) {
			b.Locsec("inline.text", btf.Site{Func: 3, LocProto: b.LocProto(4)})
		}, "18 site-params 1"},
		{"sites that aren't sorted", func(b *btf.Builder) { b.Blob.Sites[0].Offset = 0x90 },
			"8 site-order 3"},
		{"a pointer to a location", func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 4) },
			"17 type-kind 1"},
		{"a pointer to a site", func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 8) }, "17 type-kind 1"},
		{"a member that is a location", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "", 8, false, btf.Member{Type: 4})
		}, "17 member-type 1"},
		{"a parameter that is a location", func(b *btf.Builder) {
			b.FuncProto(0, btf.Param{NameOff: b.Name("a"), Type: 4})
		}, "17 param-type 1"},
		{"a tag on a location", func(b *btf.Builder) { b.DeclTag("tag", 4, btf.DeclTagWhole) },
			"17 tag-target 1"},
	} {
		b := sites()
		c.edit(b)
		data, err := b.Encode(btf.EncodeOptions{})
		if err != nil {
			t.Fatal(c.name, err)
		}
		blob, err := btf.Parse(data, nil)
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		for _, v := range verify.Check(blob, verify.Options{Sorted: true}) {
			if v.Rule != "order" {
				got = append(got, fmt.Sprint(v.TypeID, " ", v.Rule, " ", uint8(v.Scope)))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

func repeat(s btf.Site, n int) []btf.Site {
	all := make([]btf.Site, n)
	for i := range all {
		all[i] = s
	}
	return all
}

// randomSites makes n locations and sites with random references, after the types of sites.
func randomSites(rnd *rand.Rand, n int) *btf.Builder {
	b := sites()
	any := func() uint32 { return rnd.Uint32N(b.NextID() + 2) }
	for range n {
		words := make([]uint32, rnd.IntN(4))
		for i := range words {
			words[i] = any()
		}
		switch rnd.IntN(3) {
		case 0:
			b.LocParam(rnd.Uint32N(20), rnd.Uint32N(64), words...)
		case 1:
			b.LocProto(words...)
		default:
			b.Locsec("inline.text", btf.Site{Func: any(), LocProto: any(), Offset: rnd.Uint32()},
				btf.Site{Func: 3, LocProto: any()})
		}
	}
	return b
}
