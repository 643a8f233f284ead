package conversion

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// CheckApart is for verbs that convert and link in one run. It returns a usage error if the choice
// of variables is inconsistent, or contradicts the features. If apart is set, extraFlag was given:
// the variables that aren't per-CPU get separate BTF.
func CheckApart(which link.Which, apart bool, set features.Set, extraFlag string) error {
	var err error
	switch {
	case which == link.Extra:
		err = fmt.Errorf("--variables=%v needs the module's own BTF as base; use %s, "+
			"which makes that BTF too",
			which, extraFlag)
	case apart && which == link.All:
		err = fmt.Errorf("--variables=%v and %s can't be used together", which, extraFlag)
	case apart && !set.Has(features.GlobalVar):
		err = fmt.Errorf("%s needs the feature %v: add --features=default,%[2]v", extraFlag,
			features.GlobalVar)
	default:
		err = which.Check(set, true, true)
	}
	if err != nil {
		return cli.Usagef("%v", err)
	}
	return nil
}

// VariablesVar defines the flag --variables of the verbs that link.
func VariablesVar(flags *cli.FlagSet, which *link.Which) {
	flags.Var(which, "variables", "`which` variables to encode with the feature global_var: "+
		"\"percpu\", \"all\", or \"extra\" (all except per-CPU variables, as split BTF based on the "+
		"result of --variables=percpu); the default depends on the features")
}

// CheckVariables returns a usage error if the choice of variables requires a flag that is missing.
// The objects were made with the features in set.
func CheckVariables(env *cli.Env, which link.Which, set features.Set, facts bool) error {
	if err := which.Check(set, facts, len(env.Bases) > 0); err != nil {
		return cli.Usagef("%v", err)
	}
	if which == link.Extra && env.DistilledBase != "" {
		return cli.Usagef("--variables=%v and --distilled-base can't be used together: the BTF of "+
			"extra variables is based on the BTF of one kernel", which)
	}
	return nil
}
