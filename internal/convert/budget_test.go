package convert

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// importing is a partial unit with entries of its own, and so many units that import it, the i-th
// with own(i) besides.
func importing(partial string, units int, own func(i int) string) string {
	var b strings.Builder
	b.WriteString(unitOf(3, "\x06"+partial+"\x00"))
	for i := range units {
		b.WriteString(unitOf(1, "\x01\x07"+u32(0)+own(i)+"\x00"))
	}
	return b.String()
}

// TestVerdictOfThreads converts files by different numbers of threads: the object is the same one,
// or the error has the same words.
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
			"they have more than"},
		// definitions of one tag, each of which leads to the one before it
		{"definitions that are hard to tell apart", importing(chain(13, 14, 6000,
			func(i, off int) string {
				if i == 0 {
					return "\x05t\x00\x04" + u32(13) + "\x00\x02" + u32(13)
				}
				return "\x05t\x00\x04" + u32(off-14+9) + "\x00\x02" + u32(off)
			}), 40, func(int) string { return "" }),
			"too deeply to be told apart|overlap or refer to each other"},
		{"lists that overlap", strings.Repeat(unitOf(1, "\x01"+chain(13, 7, 8000,
			func(i, off int) string { return "\x08s\x00" + u32(13+8000*7+i) })+
			strings.Repeat("\x03", 8000)), 3), "nests more than|overlap or refer to each other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var first []byte
			var words string
			for _, jobs := range []int{1, 2, 4, 8, 16} {
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
				data, err := object.Write(o)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = data
				}
				if !bytes.Equal(data, first) || words != "" {
					t.Errorf("-j%d gives another object, or one that others don't", jobs)
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

// TestDepth has types that nest as deep as they may, and one deeper: what is converted can be read,
// whatever the order of the entries. For typedefs and qualifiers in a row, the limit is
// maxModifiers.
func TestDepth(t *testing.T) {
	const base = 13
	abbrevs := strings.TrimSuffix(handAbbrevs, "\x00") +
		"\x0f\x24\x00\x03\x08\x0b\x0b\x3e\x0b\x00\x00" + // 15 base type
		"\x00"
	integer := "\x0fi\x00\x04\x05" // at base
	links := map[string]func(to string) string{
		"pointers": func(to string) string { return "\x02" + to },
		"structs":  func(to string) string { return "\x03\x04" + to + "\x00\x00" },
	}
	for name, link := range links {
		size := len(link(u32(0)))
		for _, n := range []int{types.MaxDepth - 2, types.MaxDepth - 1} {
			for _, down := range []bool{false, true} {
				start := base + len(integer) // n links, then the typedef "s" of the last
				entries := chain(start, size, n, func(i, off int) string {
					switch {
					case down && i < n-1:
						return link(u32(off + size))
					case !down && i > 0:
						return link(u32(off - size))
					}
					return link(u32(base))
				})
				last := start + (n-1)*size
				if down {
					last = start
				}
				info := unitOf(1, "\x01"+integer+entries+"\x08s\x00"+u32(last)+"\x00")
				for _, info := range []string{info, info + unitOf(1, "\x01")} {
					o, err := File(handMade(t, info, abbrevs), Options{Features: features.Default(), Jobs: 1})
					if fits := n < types.MaxDepth-1; fits != (err == nil) {
						t.Errorf("%d %s, downwards %v: error %v", n, name, down, err)
					}
					if err != nil {
						if !strings.Contains(err.Error(), "nests more than 1000 types deep") {
							t.Errorf("%d %s: error %v", n, name, err)
						}
						continue
					}
					data, err := object.Write(o)
					if err != nil {
						t.Fatal(err)
					}
					readObject(t, data)
				}
			}
		}
	}
}
