package encode

import (
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link"
)

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
