package render

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// kernel makes BTF with a struct of twelve members, a second struct that refers to it, an enum and
// a function. If the parameter change is set, all of them are a little different.
func kernel(change bool) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 0)
	at := uint32(0)
	var members []btf.Member
	add := func(name string, typ uint32) {
		members = append(members, btf.Member{NameOff: b.Name(name), Type: typ, Offset: at})
		at += 32
	}
	for _, name := range strings.Split("abcdefghijkl", "") {
		if change && name == "c" {
			add("inserted<b>", i)
		}
		if !change || name != "h" {
			add(name, i)
		}
	}
	opts := b.Composite(btf.KindStruct, "opts", at/8, false, members...)
	b.Composite(btf.KindStruct, "dev", 8, false,
		btf.Member{NameOff: b.Name("opts"), Type: b.Ref(btf.KindPtr, "", opts)})
	enums := []btf.Enumerator{{NameOff: b.Name("FIRST")}}
	first := uint64(1)
	if change {
		enums = append(enums, btf.Enumerator{NameOff: b.Name("NEW"), Value: 1})
		first = 2
	}
	for n, name := range []string{"ONE", "TWO", "THREE", "FOUR"} {
		enums = append(enums, btf.Enumerator{NameOff: b.Name(name), Value: first + uint64(n)})
	}
	b.Enum(btf.KindEnum, "modes", 4, false, enums...)
	params := []btf.Param{{NameOff: b.Name("first"), Type: i}}
	if change {
		params = append(params, btf.Param{NameOff: b.Name("a_parameter_with_a_longer_name"), Type: i})
	}
	b.Func("call", b.FuncProto(0, params...), btf.LinkageGlobal)
	if change {
		b.Composite(btf.KindUnion, "new", 0, false)
	}
	return b.Finish()
}

func compare(indirect bool) diff.Result {
	list, s := diff.Compare(diff.Side{kernel(false)}, diff.Side{kernel(true)},
		diff.Options{Indirect: indirect})
	return diff.Result{Differences: list, Summary: s}
}

const head = "1 equal, 0 only in A, 1 only in B, 3 differ, 0 forward declarations, " +
	`1 differ only because of those (7 types in A, 8 in B)

kind          only in A  only in B  changed   compatible  follow-ups
struct                0          0        1            0           1
union                 0          1        0            0           0
enum                  0          0        1            0           0
func                  0          0        1            0           0

`

const whole = head +
	`struct opts: 1 added; 1 removed; 5 moved; 1 more type differs only because of it
    struct opts {
        int a;                                       /*     0     4 */
        int b;                                       /*     4     4 */
-       int c;                                       /*     8     4 */
+       int inserted<b>;                             /*     8     4 */
+       int c;                                       /*    12     4 */
        … 4 more lines, moved by +4 bytes
-       int h;                                       /*    28     4 */
        int i;                                       /*    32     4 */
        int j;                                       /*    36     4 */
        … 2 more lines
    };                                               /* size: 48 */
    because of it: struct dev: member opts: refers to struct opts, which differs

enum modes: 1 added; 4 different values
    enum modes {
        FIRST                                        = 0
-       ONE                                          = 1
+       NEW                                          = 1
+       ONE                                          = 2
        … 3 more lines, changed by +1
    };                                               /* size: 4 */

func call: parameter 2 a_parameter_with_a_longer_name: added: int a_parameter_with_a_longer_name
    void call(
        int first
+       int a_parameter_with_a_longer_name
    );

only in B: union new
`

func TestText(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, Text(&b, compare(true), Options{}))
	if b.String() != whole {
		t.Errorf("%s\nwant\n%s", b.String(), whole)
	}
}

func TestLimit(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, Text(&b, compare(false), Options{Limit: 1}))
	const end = "\n\n3 more differences left out; --limit=0 prints all\n"
	if s := b.String(); !strings.HasSuffix(s, end) || strings.Contains(s, "enum modes") {
		t.Error(s)
	}
}

// TestKABI: what package kabi finds is in the text.
func TestKABI(t *testing.T) {
	r := compare(false)
	for i := range r.Differences {
		d := &r.Differences[i]
		d.Path, d.Symbols = "call → "+d.Type, 1
		d.Compatible = d.Class == diff.OnlyB
		for j := range d.Changes {
			d.Changes[j].Reason = "why <not>"
		}
	}
	r.Differences[1].Allowed = "a reason"
	kabi := func() *KABI {
		return &KABI{Symbols: 2, Missing: "2 of 4 symbols", Verdict: "the verdict"}
	}
	var b bytes.Buffer
	must.OK(t, Text(&b, r, Options{KABI: kabi()}))
	for _, want := range []string{
		"^2 symbols; what they reach: 1 equal, 3 differ, 1 differ only because of those\n" +
			"2 of 4 symbols\n",
		"\n\nincompatible:\n\nstruct opts: ", "\n    reached by 1 of 2 symbols: call → struct opts\n",
		"\n    incompatible: c, d, e, f, g, 1 more: why <not>\n",
		"\n\nallowed:\n\nenum modes: ", "\n    allowed: a reason\n",
		"\n\ncompatible:\n\nonly in B: union new\n",
		"\n\nthe verdict\n$",
	} {
		if !regexp.MustCompile(want).MatchString(b.String()) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
