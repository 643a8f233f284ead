package loader

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// sites makes BTF of a site of a function with one parameter, based on the BTF in on, with the
// location of as many parameters as located.
func sites(t *testing.T, on *btf.Blob, located int) []byte {
	t.Helper()
	b := btf.NewBuilder(nil, on, nil)
	proto := b.FuncProto(0, btf.Param{NameOff: b.Name("n"), Type: 1})
	function := b.Func("inlined", proto, 0)
	at := []uint32{}
	for range located {
		at = append(at, b.LocParam(4, btf.LocReg, 5))
	}
	b.Locsec("inline.text", btf.Site{Func: function, LocProto: b.LocProto(at...), Offset: 16})
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return data
}

// TestOtherModulesBTF loads modules with the sites of inlined functions, which may be based on the
// BTF of another module, and the modules that carry the BTF or the sites of vmlinux.
func TestOtherModulesBTF(t *testing.T) {
	b := newBuilder(t)
	k, _, types := b.kernel()
	other, _, otherTypes := b.kernel(`FIRST=struct more { struct more *next; int n; } more;`)
	parse := func(data []byte, base *btf.Blob) *btf.Blob {
		t.Helper()
		blob, err := btf.Parse(data, base)
		b.check(err)
		return blob
	}
	good := b.module(k)
	own := parse(b.section(good, btf.SectionTypes), k.types)
	larger := parse(b.section(b.module(k, "FUNCTION=probe(struct module *m) { return 0; } "+
		"size_type two"), btf.SectionTypes), k.types)
	distilled, onDistilled, err := distill.Encode(b.section(good, btf.SectionTypes), k.types)
	b.check(err)
	relocatable := b.with(good, map[string][]byte{btf.SectionTypes: onDistilled,
		btf.SectionBase: distilled})
	sitesKo := b.module(k, `NAME="`+verify.SitesModule+`"`)
	bare, err := NewKernel("vmlinux", nil, nil, nil)
	b.check(err)
	vmlinuxKo := b.module(k, `NAME="`+verify.VmlinuxModule+`"`)

	with := func(module, inline []byte) []byte {
		return b.with(module, map[string][]byte{btf.SectionInline: inline})
	}
	of := func(vmlinux []byte) []byte {
		return b.with(vmlinuxKo, map[string][]byte{btf.SectionTypes: vmlinux})
	}
	const section = "section .BTF.inline: sites of inlined functions: "
	for _, c := range []struct {
		what    string
		kernel  *Kernel
		module  []byte
		outcome Outcome
		why     string
	}{
		{"sites", k, with(good, sites(t, own, 1)), Loads, ""},
		{"sites of another module", k, with(good, sites(t, larger, 1)), WrongBTF, section},
		{"a location too many", k, with(good, sites(t, own, 2)), WrongBTF, section + "the kernel " +
			"rejects [26] LOCSEC inline.text: site-params: site 0: inlined has 1 parameter, but"},
		{"no BTF", k, with(good, []byte("sites")), WrongBTF, section},
		{"an empty section", k, with(good, []byte{}), Loads, ""},
		{"a distilled base", k, with(relocatable, sites(t, parse(onDistilled, parse(distilled, nil)), 1)),
			Loads, ""},
		{"the kernel's BTF, not the distilled base", k, with(relocatable, sites(t, own, 1)), WrongBTF,
			section},
		{"sites of vmlinux", k, with(sitesKo, sites(t, k.types, 1)), Loads, ""},
		{"sites of vmlinux, no BTF", k, b.with(sitesKo, map[string][]byte{btf.SectionTypes: nil,
			btf.SectionInline: sites(t, k.types, 1)}), Loads, "it has no BTF"},
		{"sites of another vmlinux", k, with(sitesKo, sites(t, other.types, 1)), WrongBTF, section},
		{"sites of the module itself", k, with(sitesKo, sites(t, own, 1)), WrongBTF, section},
		{"the BTF of vmlinux", k, of(types), Loads, "its BTF is that of vmlinux " +
			"(CONFIG_DEBUG_INFO_BTF=m)"},
		{"the BTF of vmlinux, which has none", bare, of(types), Loads, "its BTF is that of vmlinux " +
			"(CONFIG_DEBUG_INFO_BTF=m)"},
		{"the BTF of another vmlinux", k, of(otherTypes), Refused, "its BTF must be that of vmlinux"},
		{"split BTF in place of vmlinux's", k, vmlinuxKo, Refused, "BTF at offset"},
	} {
		v := b.load(c.kernel, c.module)
		if v.Outcome != c.outcome || !strings.Contains(v.Why, c.why) ||
			c.outcome == Loads && v.Why != c.why {
			t.Errorf("%s: %v: %s\nwant %v: %s", c.what, v.Outcome, v.Why, c.outcome, c.why)
		}
	}
}
