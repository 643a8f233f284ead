package link

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
)

// checkFacts refuses facts that don't list what the features need: it would be missing without a
// word.
func checkFacts(f *facts.Facts, set features.Set) error {
	if f == nil {
		return nil
	}
	missing := func(what string, feature features.Feature) error {
		return fmt.Errorf("the objects were made with the feature %v, but the facts list no %s; "+
			"run btfgen facts with the --features of btfgen object", feature, what)
	}
	switch {
	case set.Has(features.GlobalVar) && (f.Variables == facts.VariablesNone ||
		f.Variables == facts.VariablesPerCPU):
		return missing("variables of other sections than "+facts.PerCPUSection, features.GlobalVar)
	case set.Has(features.Var) && f.Variables == facts.VariablesNone:
		return missing("variables", features.Var)
	case set.Has(features.DeclTagKfuncs) && f.KfuncState == facts.KfuncsOff:
		return missing("kfuncs", features.DeclTagKfuncs)
	}
	return nil
}
