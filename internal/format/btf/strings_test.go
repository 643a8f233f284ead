package btf

import (
	"strings"
	"testing"
)

// TestLongStrings: names are the same, whether the ends of the strings are known or searched for.
// They are known if a string is long.
func TestLongStrings(t *testing.T) {
	for _, tt := range []struct {
		names []string
		known bool
	}{
		{[]string{"a", "", strings.Repeat("x", longString/2-1), "b"}, false},
		{[]string{strings.Repeat("x", longString)}, true},
		{[]string{"a", strings.Repeat("x", 3*longString), "", "b", strings.Repeat("y", longString)},
			true},
	} {
		b := &Blob{Strings: "\x00" + strings.Join(tt.names, "\x00") + "\x00"}
		b.findEnds()
		if (b.ends != nil) != tt.known {
			t.Errorf("%.10q: the ends are known: %v", tt.names, b.ends != nil)
		}
		plain := &Blob{Strings: b.Strings}
		for off := range uint32(len(b.Strings)) {
			want, _ := plain.Name(off)
			if got, err := b.Name(off); got != want || err != nil {
				t.Fatalf("offset %d: %.20q, %v; want %.20q", off, got, err, want)
			}
		}
	}
}
