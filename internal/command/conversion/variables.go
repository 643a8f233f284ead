package conversion

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// CheckApart returns a usage error if the variables of a file whose BTF is made in one go contradict
// each other or the features. extraFlag is the flag that says Apart.
func CheckApart(v pipeline.Variables, set features.Set, extraFlag string) error {
	var err error
	switch {
	case v.Which == link.Extra:
		err = fmt.Errorf("--variables=%v is for BTF that is based on a module's own; use %s to make both",
			v.Which, extraFlag)
	case v.Apart && v.Which == link.All:
		err = fmt.Errorf("--variables=%v and %s contradict each other", v.Which, extraFlag)
	case v.Apart && !set.Has(features.GlobalVar):
		err = fmt.Errorf("%s needs the feature %v: --features=default,%[2]v", extraFlag,
			features.GlobalVar)
	default:
		err = v.Which.Check(set, true, true)
	}
	if err != nil {
		return cli.Usagef("%v", err)
	}
	return nil
}

// VariablesVar defines the flag --variables of the verbs that link.
func VariablesVar(flags *cli.FlagSet, which *link.Which) {
	flags.Var(which, "variables", "`which` variables of the feature global_var to encode: percpu,"+
		" all, or extra: all but percpu, based on the BTF made with percpu; the default is what the"+
		" features say")
}

// CheckVariables returns a usage error if a flag is missing for the choice of variables. The objects
// were made with these features.
func CheckVariables(env *cli.Env, which link.Which, set features.Set, facts bool) error {
	if err := which.Check(set, facts, len(env.Bases) > 0); err != nil {
		return cli.Usagef("%v", err)
	}
	if which == link.Extra && env.DistilledBase != "" {
		return cli.Usagef("--variables=%v and --distilled-base contradict each other: extra "+
			"variables are based on the BTF of one kernel", which)
	}
	return nil
}
