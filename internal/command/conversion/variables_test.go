package conversion

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// TestCheckApart checks the errors for choices that contradict each other or the features.
func TestCheckApart(t *testing.T) {
	full := features.Default().With(features.GlobalVar)
	for _, c := range []struct {
		v    pipeline.Variables
		set  features.Set
		want string
	}{
		{pipeline.Variables{}, features.Default(), ""},
		{pipeline.Variables{Which: link.PerCPU}, features.Default(), ""},
		{pipeline.Variables{Apart: true}, full, ""},
		{pipeline.Variables{Apart: true, Which: link.PerCPU}, full, ""},
		{pipeline.Variables{Which: link.All}, full, ""},
		{pipeline.Variables{Which: link.All}, features.Default(), "needs the feature global_var"},
		{pipeline.Variables{Which: link.Extra}, full, "use --extra, which makes that BTF too"},
		{pipeline.Variables{Apart: true}, features.Default(), "--extra needs the feature global_var"},
		{pipeline.Variables{Apart: true, Which: link.All}, full, "--extra can't be used together"},
	} {
		err := CheckApart(c.v, c.set, "--extra")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.v, err, c.want)
		}
	}
}
