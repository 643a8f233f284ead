package convert

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// importing returns a partial unit that consists of the entries in partial, followed by units that
// import it. The importing unit i also contains the entries own(i).
func importing(partial string, units int, own func(i int) string) string {
	var b strings.Builder
	b.WriteString(unitOf(3, "\x06"+partial+"\x00"))
	for i := range units {
		b.WriteString(unitOf(1, "\x01\x07"+u32(0)+own(i)+"\x00"))
	}
	return b.String()
}

// TestVerdictOfThreads converts each file several times, with different numbers of threads. Neither
// the object nor the error's text may depend on the number of threads.
func TestVerdictOfThreads(t *testing.T) {
	structs := func(n int) string {
		return chain(0, 9, n, func(i, _ int) string { return fmt.Sprintf("\x05s%05x\x00\x00", i) })
	}
	redefined := func(i int) string { // with a pointer to itself
		return "\x02" + u32(23) + fmt.Sprintf("\x05s%05x\x00\x04", i) + u32(18) + "\x00"
	}
	for _, tt := range []struct{ name, info, want string }{
		{"each redefines one tag", importing(structs(1000), 700,
			func(int) string { return redefined(1) }), ""},
		{"each redefines a tag", importing(structs(1000), 700, redefined), ""},
		{"more types than a file may have", importing(structs(12000), 4000,
			func(i int) string { return fmt.Sprintf("\x05x%05x\x00\x00", i) }),
			"import more than"},
		// all units import the same definitions of one tag; each definition leads to the previous one
		{"definitions that are hard to tell apart", importing(chain(13, 14, 6000,
			func(i, off int) string {
				if i == 0 {
					return "\x05t\x00\x04" + u32(13) + "\x00\x02" + u32(13)
				}
				return "\x05t\x00\x04" + u32(off-14+9) + "\x00\x02" + u32(off)
			}), 40, func(int) string { return "" }),
			"too deeply to be distinguished|overlap or refer to each other"},
		{"lists that overlap", strings.Repeat(unitOf(1, "\x01"+chain(13, 7, 8000,
			func(i, off int) string { return "\x08s\x00" + u32(13+8000*7+i) })+
			strings.Repeat("\x03", 8000)), 3), "nests more than|overlap or refer to each other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var first []byte
			var words string
			for _, jobs := range []int{1, 2, 16} {
				o, err := File(handMade(t, tt.info, handAbbrevs),
					Options{Features: features.Default(), Jobs: jobs})
				if err != nil {
					if words == "" {
						words = err.Error()
					}
					if err.Error() != words {
						t.Errorf("-j%d says %v, -j1 %s", jobs, err, words)
					}
					continue
				}
				data, err := object.Write(o.Object, 1)
				must.OK(t, err)
				if first == nil {
					first = data
				}
				if !bytes.Equal(data, first) || words != "" {
					t.Errorf("-j%d gives a different object, or succeeds where fewer threads fail", jobs)
				}
			}
			found := words == "" && tt.want == ""
			for _, want := range strings.Split(tt.want, "|") {
				found = found || want != "" && strings.Contains(words, want)
			}
			if !found || words != "" && first != nil {
				t.Errorf("error %q, want %q", words, tt.want)
			}
		})
	}
}

// TestDepth converts types that are nested as deeply as the limit allows, and types that are nested
// one level deeper. The order of the entries must not matter. If a conversion succeeds, the object
// must be readable. For chains of typedefs and qualifiers, the limit is btf.MaxModifiers.
func TestDepth(t *testing.T) {
	const base = 13
	abbrevs := strings.TrimSuffix(handAbbrevs, "\x00") +
		"\x0f\x24\x00\x03\x08\x0b\x0b\x3e\x0b\x00\x00" + // 15 base type
		"\x10\x26\x00\x49\x13\x00\x00" + "\x11\x15\x00\x49\x13\x00\x00" + // const, prototype
		"\x00"
	integer := "\x0fi\x00\x04\x05" // at base
	const nests, modifiers = "nests more than 1000 types deep",
		"a chain of more than 32 typedefs and qualifiers"
	for _, c := range []struct {
		name    string
		entry   func(to string) string
		deepest int // the largest allowed number of links between the integer and the typedef "s"
		refused string
	}{
		{"pointers", func(to string) string { return "\x02" + to }, types.MaxDepth - 2, nests},
		{"structs", func(to string) string { return "\x03\x04" + to + "\x00\x00" }, types.MaxDepth - 2,
			nests},
		{"prototypes", func(to string) string { return "\x11" + to }, types.MaxDepth - 2, nests},
		{"typedefs", func(to string) string { return "\x08t\x00" + to }, btf.MaxModifiers - 1, modifiers},
		{"const", func(to string) string { return "\x10" + to }, btf.MaxModifiers - 1, modifiers},
	} {
		size := len(c.entry(u32(0)))
		for _, n := range []int{c.deepest, c.deepest + 1} {
			for _, down := range []bool{false, true} {
				start := base + len(integer) // n links, then the typedef "s" of the last link
				entries := chain(start, size, n, func(i, off int) string {
					switch {
					case down && i < n-1:
						return c.entry(u32(off + size))
					case !down && i > 0:
						return c.entry(u32(off - size))
					}
					return c.entry(u32(base))
				})
				last := start + (n-1)*size
				if down {
					last = start
				}
				info := unitOf(1, "\x01"+integer+entries+"\x08s\x00"+u32(last)+"\x00")
				for _, info := range []string{info, info + unitOf(1, "\x01")} {
					o, err := File(handMade(t, info, abbrevs), Options{Features: features.Default(), Jobs: 1})
					if fits := n == c.deepest; fits != (err == nil) {
						t.Errorf("%d %s, downwards %v: error %v", n, c.name, down, err)
					}
					if err != nil {
						if !strings.Contains(err.Error(), c.refused) {
							t.Errorf("%d %s: error %v", n, c.name, err)
						}
						continue
					}
					data, err := object.Write(o.Object, 1)
					must.OK(t, err)
					linkAsBase(t, c.name, readObject(t, data))
				}
			}
		}
	}
}

// TestTypeTagsInARow: one limit applies to a pointer's type tags together with the typedefs and
// qualifiers that follow these tags.
func TestTypeTagsInARow(t *testing.T) {
	for _, cc := range compilersOfTags(t) {
		for _, n := range []int{btf.MaxModifiers - 1, btf.MaxModifiers} { // not counting const
			var text strings.Builder
			text.WriteString("typedef const int")
			for i := range n {
				fmt.Fprintf(&text, ` __attribute__((btf_type_tag("t%d")))`, i)
			}
			text.WriteString(" *p; p v;")
			_, objs := compileTexts(t, []string{text.String()}, cc)
			o, err := tryConvert(objs[0], Options{Features: features.Default(), Jobs: 1})
			switch {
			case n < btf.MaxModifiers && err != nil || n == btf.MaxModifiers && (err == nil ||
				!strings.Contains(err.Error(), "a chain of more than 32 typedefs and qualifiers")):
				t.Errorf("%s, %d type tags: error %v", cc, n, err)
			case err == nil:
				linkAsBase(t, cc, o)
			}
		}
	}
}

// linkAsBase links an object, and reads the result both as an object and as a base.
func linkAsBase(t *testing.T, what string, o *object.Object) {
	t.Helper()
	opt := link.Options{Features: features.Default(), Jobs: 1}
	res, err := link.Link([]*object.Object{o}, opt)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	blob, err := btf.Parse(res.BTF, nil)
	must.OK(t, err)
	boot := verify.Boot
	for _, v := range verify.Check(blob, verify.Options{Only: &boot, Sorted: true}) {
		t.Errorf("%s: %v", what, v)
	}
	again, err := object.FromBTF(object.Target{}, blob)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if _, err := link.Link([]*object.Object{again}, opt); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if _, err := base.Parse(blob); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
