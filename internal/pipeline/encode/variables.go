package encode

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Variables says which variables are encoded, of files whose BTF is made in one go.
type Variables struct {
	Which link.Which // PerCPU or All; the zero value goes by the features
	// Apart says that those that are not per CPU get split BTF of their own on the BTF of the file.
	Apart bool
}

// which are the variables in the BTF of the file itself.
func (v Variables) which() link.Which {
	if v.Apart {
		return link.PerCPU
	}
	return v.Which
}

// Check tells which flag is missing for the choice. extraFlag is the one that says that Apart.
func (v Variables) Check(set features.Set, extraFlag string) error {
	var err error
	switch {
	case v.Which == link.Extra:
		err = fmt.Errorf("--variables=%v is for BTF on a module's own; %s makes both", v.Which, extraFlag)
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
	flags.Var(which, "variables", "`which` variables are encoded, of those that global_var lists:"+
		" percpu, all, or extra, which are all but percpu on the --base that percpu gives;"+
		" without it, those that the features say")
}

// CheckVariables tells which flag is missing for the choice of variables, of objects that were made
// with these features.
func CheckVariables(env *cli.Env, which link.Which, set features.Set, facts bool) error {
	if err := which.Check(set, facts, len(env.Bases) > 0); err != nil {
		return cli.Usagef("%v", err)
	}
	if which == link.Extra && env.DistilledBase != "" {
		return cli.Usagef("--variables=%v and --distilled-base contradict each other: what is extra "+
			"stands on BTF with the ids of one kernel", which)
	}
	return nil
}
