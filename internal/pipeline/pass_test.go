package pipeline

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// TestPlan: passes run stage by stage, in whichever order they are listed, and the steps before
// them do what they need. The conversion doesn't see features that are passes.
func TestPlan(t *testing.T) {
	set := features.Default()
	change := Change(func(data []byte) ([]byte, error) { return data, nil })
	how := How{Passes: []Pass{Sites{}, Extra{}, change}}
	how.Convert.Features = set.With(features.Inline)
	how.plan()
	var stages []Stage
	for _, p := range how.Passes {
		stages = append(stages, p.Needs().Stage)
	}
	if len(stages) != 4 || stages[0] != Changes || stages[1] != Splits || stages[3] != Joins {
		t.Errorf("stages %v", stages)
	}
	if how.Convert.Features != set || how.Convert.Want != convert.TypesAndSites ||
		how.Variables != link.PerCPU {
		t.Errorf("%+v, variables %v", how.Convert, how.Variables)
	}
}
