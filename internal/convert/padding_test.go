package convert

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// TestPadding: zeros after the last unit of .debug_info are ignored, however many there are, as
// readelf and llvm-dwarfdump do. Anything else after the last unit is an error.
func TestPadding(t *testing.T) {
	opt := Options{Features: features.Default(), Jobs: 1}
	if _, err := File(handMade(t, strings.Repeat("\x00", 40), handAbbrevs), opt); err == nil {
		t.Error("zeros and no unit: no error")
	}
	unit := unitOf(1, "\x01"+"\x05s\x00\x00"+"\x00")
	for _, n := range []int{1, 2, 3, 4, 5, 8, 12, 40, 5000} {
		padded := unit + strings.Repeat("\x00", n)
		if found := countNamed(t, padded, handAbbrevs, "s"); found != 1 {
			t.Errorf("%d bytes of padding: %d definitions of s, want 1", n, found)
		}
		for _, wrong := range []string{padded + "\x01", padded + unit} {
			_, err := File(handMade(t, wrong, handAbbrevs), opt)
			if err == nil || !strings.Contains(err.Error(), "hand.o: .debug_info+0x12: ") {
				t.Errorf("%d bytes, then more: error %v", n, err)
			}
		}
	}
}
