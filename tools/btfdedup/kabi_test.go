package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/kabi"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// writeKernels writes two kernels, a.btf and b.btf. In the latter, a struct has one more member at
// its end, and a struct that a symbol doesn't reach has changed completely. It also writes the
// directory set, which has the first kernel with a module. If the parameter moves is set, a member
// has moved in b.btf.
func writeKernels(t *testing.T, dir string, moves bool) {
	t.Helper()
	kernel := func(path string, changed bool) *btf.Blob {
		_, blob := writeBTF(t, filepath.Dir(path), filepath.Base(path), nil, func(b *btf.Builder) {
			i := b.Int("int", 4, btf.IntSigned, 0)
			member := func(name string, off uint32) btf.Member {
				return btf.Member{NameOff: b.Name(name), Type: i, Offset: off}
			}
			members := []btf.Member{member("len", 0), member("id", 64)}
			size := uint32(16)
			if changed {
				members = append(members, member("mark", 128))
				size = 24
				if moves {
					members[1].Offset = 32
				}
			}
			buff := b.Composite(btf.KindStruct, "sk_buff", size, false, members...)
			proto := b.FuncProto(i, btf.Param{NameOff: b.Name("skb"), Type: b.Ref(btf.KindPtr, "", buff)})
			b.Func("netif_rx", proto, btf.LinkageGlobal)
			b.Composite(btf.KindStruct, "other", size, false)
		})
		return blob
	}
	kernel(filepath.Join(dir, "a.btf"), false)
	kernel(filepath.Join(dir, "b.btf"), true)
	must.OK(t, os.MkdirAll(filepath.Join(dir, "set"), 0o777))
	base := kernel(filepath.Join(dir, "set/vmlinux.btf"), false)
	writeBTF(t, filepath.Join(dir, "set"), "mod.btf", base, func(b *btf.Builder) {
		b.Func("mod_init", b.FuncProto(1), btf.LinkageGlobal)
		for i := range 11 {
			b.Func(fmt.Sprint("f", i), b.FuncProto(1), btf.LinkageGlobal)
		}
	})
	must.OK(t, os.MkdirAll(filepath.Join(dir, "only"), 0o777))
	kernel(filepath.Join(dir, "only/vmlinux.btf"), false)
	many := "0x1\tnetif_rx\tvmlinux\tEXPORT_SYMBOL\t\n"
	for i := range 11 {
		many += fmt.Sprintf("0x1\tf%d\tdrivers/mod\tEXPORT_SYMBOL\t\n", i)
	}
	for name, text := range map[string]string{
		"list":   "netif_rx\njiffies\n",
		"none":   "jiffies\n",
		"bad":    "int f(void);\n",
		"mod":    "0x1\tmod_init\tdrivers/mod\tEXPORT_SYMBOL\t\n",
		"allow":  "\ufeff# moved\ntype=struct sk_buff where=member id change=moved # nobody reads it\n",
		"wrong":  "type=struct sk_buff\n",
		"many":   many,
		"marked": "\ufeff{\"kabi_reference\":2,\n",
		"old":    "# BTF as text, version 1, 64-bit, little-endian\nend 0;\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}

const compatible = `1 symbol; what they reach: 1 equal, 1 differ, 1 differ only because of those
1 of 2 symbols not found in A or B (BTF has functions and per-CPU variables): jiffies

compatible:

struct sk_buff: size 16 → 24; 1 added; compatible; 1 more type differs only because of it
    reached by 1 of 1 symbol: netif_rx → struct sk_buff
    compatible: mark: at the end
    compatible: larger, but no type contains it (modules must not allocate it)
    struct sk_buff {
        int len;                                     /*     0     4 */
        int id;                                      /*     8     4 */
-   };                                               /* size: 16 */
+       int mark;                                    /*    16     4 */
+   };                                               /* size: 24 */

kABI of 1 symbol: 0 incompatible differences, 1 compatible (1 larger, if modules don't allocate them)
`

func TestKABI(t *testing.T) {
	dir := t.TempDir()
	writeKernels(t, dir, false)
	t.Chdir(dir)
	rows(t, dir, "", []row{
		{"diff --symbols list a.btf b.btf", 0, compatible, ""},
		{"diff --symbols list b.btf a.btf", 1, "incompatible: smaller\n", ""},
		{"diff --symbols list set b.btf", 0, compatible, ""},
		{"dump --format=kabi --symbols list -o abi.kabi a.btf", 0, "",
			"1 of 2 symbols not found in a.btf (BTF has functions and per-CPU variables): jiffies"},
		{"diff --symbols list abi.kabi b.btf", 0, compatible, ""},
		{"diff abi.kabi a.btf", 0, "1 symbol; what they reach: 3 equal\n\n" +
			"kABI of 1 symbol: 0 incompatible differences, 0 compatible\n", ""},
		{"diff b.btf abi.kabi", 2, "", "abi.kabi is a reference: it must be the first file"},
		{"diff --symbols list b.btf abi.kabi", 1, "incompatible: smaller\n", ""},
		{"dump --format=kabi --symbols mod set", 0, `"kind":"func","name":"mod_init",`, ""},
		{"diff --symbols mod set set", 0, "kABI of 1 symbol: 0 incompatible",
			"warning: set and set are the same file"},
		{"diff --symbols many set a.btf", 1, "only in A: func f9\n",
			"a.btf lacks 11 of the 12 symbols; "},
		{"diff --symbols many a.btf b.btf", 0, "; 11 are exported by modules): f0, f1, ", ""},
		{"diff --symbols list only b.btf", 0, compatible, "only: there is a kernel's BTF, but no"},
		{"diff --symbols list --name=other a.btf b.btf", 1, "",
			"the symbols reach no type that --name"},
		{"diff marked b.btf", 1, "", "marked: begins with a byte order mark"},
		{"diff old b.btf", 1, "", "old: a reference of an older version, which can't be read any " +
			"more; make the reference again, with \"btfdedup dump"},
		{"diff --symbols list --allow type=*#x a.btf b.btf", 0,
			"0 compatible, 1 allowed type not compared",
			""},
		{"dump --format=kabi --symbols list --allow type=sk_buff#x a.btf", 0,
			`{"kind":"struct","name":"sk_buff",`,
			"not found in a.btf (BTF has functions and per-CPU variables): jiffies\n" +
				"btfdedup: warning: an entry of --allow or --allow-file matches nothing: " +
				"type=sk_buff # x"},
		{"diff --symbols none a.btf b.btf", 1, "", "a.btf: none of 1 symbol has BTF"},
		{"diff --symbols bad a.btf b.btf", 1, "", `bad: line 1: "int f(void);" is not the name`},
		{"diff --symbols missing a.btf b.btf", 1, "", "open missing: "},
		{"diff --symbols list --base a.btf set b.btf", 1, "", "need no base"},
		{"diff --base a.btf abi.kabi b.btf", 1, "", "abi.kabi is a reference, which has no base"},
		{"diff --symbols list --name=none a.btf b.btf", 1, "", `has a type with the name "none"`},
		{"diff --symbols list --allow-file wrong a.btf b.btf", 1, "", "wrong:1: allowance "},
		{"diff --allow-file allow a.btf b.btf", 2, "", "need --symbols"},
		{"diff --symbols list --allow x a.btf b.btf", 2, "", "--allow: allowance \"x\": a reason"},
		{"diff --symbols list --allow-file allow a.btf b.btf", 0, compatible,
			"matches nothing: type=struct sk_buff where=member id change=moved # nobody reads it"},
		{"dump --format=kabi a.btf", 2, "", "needs --symbols"},
		{"dump --symbols list a.btf", 2, "", "need --format=kabi"},
		{"dump --format=kabi --symbols none a.btf", 1, "", "a.btf: none of 1 symbol has BTF"},
	})
}

// TestKABIAllow: a member has moved, which is allowed or not.
func TestKABIAllow(t *testing.T) {
	dir := t.TempDir()
	writeKernels(t, dir, true)
	t.Chdir(dir)
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"": {1, `incompatible:

struct sk_buff: size 16 → 24; 1 added; 1 moved; 1 more type differs only because of it
    reached by 1 of 1 symbol: netif_rx → struct sk_buff
    incompatible: id: in a different place
`},
		"--allow-file allow": {0, `allowed:

struct sk_buff: size 16 → 24; 1 added; 1 moved; 1 more type differs only because of it
    reached by 1 of 1 symbol: netif_rx → struct sk_buff
    allowed: nobody reads it
`},
	} {
		code, stdout, stderr := btfdedup(strings.Fields("diff --symbols list a.btf b.btf " + args)...)
		if code != want.code || !strings.Contains(stdout, want.text) || stderr != "" {
			t.Errorf("%s: code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	code, stdout, _ := btfdedup("diff", "--symbols", "list", "--format=json", "a.btf", "b.btf")
	var got struct {
		KABI        kabi.Report
		Differences []struct {
			Path    string
			Symbols int
			Changes []struct {
				Kind, Reason string
				Breaks       bool
			}
		}
	}
	must.OK(t, json.Unmarshal([]byte(stdout), &got))
	if d := got.Differences; code != 1 || got.KABI.Incompatible != 1 || len(d) != 1 ||
		d[0].Path != "netif_rx → struct sk_buff" || d[0].Symbols != 1 ||
		d[0].Changes[0].Reason != "in a different place" || !d[0].Changes[0].Breaks {
		t.Errorf("code %d\n%s", code, stdout)
	}
}
