package conversion

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// TestCheckApart checks the errors for choices that contradict each other or the features.
func TestCheckApart(t *testing.T) {
	full := features.Default().With(features.GlobalVar)
	for _, c := range []struct {
		which link.Which
		apart bool
		set   features.Set
		want  string
	}{
		{0, false, features.Default(), ""},
		{link.PerCPU, false, features.Default(), ""},
		{0, true, full, ""},
		{link.PerCPU, true, full, ""},
		{link.All, false, full, ""},
		{link.All, false, features.Default(), "needs the feature global_var"},
		{link.Extra, false, full, "use --extra, which makes that BTF too"},
		{0, true, features.Default(), "--extra needs the feature global_var"},
		{link.All, true, full, "--extra can't be used together"},
	} {
		err := CheckApart(c.which, c.apart, c.set, "--extra")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, apart %v: error %v, want %q", c.which, c.apart, err, c.want)
		}
	}
}
