package facts

import (
	"strconv"
	"testing"
)

func TestRepeats(t *testing.T) {
	for _, n := range []int{0, 1, 3, 1000, 20000} {
		names := newRepeats(2 * n)
		for i := range n {
			names.add(strconv.Itoa(i))
		}
		for i := 0; i < n; i += 10 {
			names.add(strconv.Itoa(i))
		}
		more := 0
		for i := range n {
			switch maybe := names.mayRepeat(i); {
			case i%10 == 0 && !maybe:
				t.Fatalf("name %d of %d occurs twice, but is reported as unique", i, n)
			case i%10 != 0 && maybe:
				more++
			}
		}
		// With only a handful of names, the share depends on chance.
		if n >= 1000 && more > n/10 {
			t.Errorf("%d of %d unique names are counted as repeated", more, n)
		}
	}
}
