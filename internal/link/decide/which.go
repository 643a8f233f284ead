package decide

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Which selects the variables to encode. It is the value of the flag --variables.
// Rule: --variables: per-CPU, all, or all but per-CPU.
type Which uint8

// The choices. PerCPU and Extra divide All into two parts. PerCPU gives the same BTF as the default
// features. Extra gives split BTF, based on the BTF of PerCPU, with only the other variables and
// the types that only these variables need.
const (
	ByFeatures Which = iota // All with the feature global_var, else PerCPU
	PerCPU                  // the variables in .data..percpu, as without global_var
	All                     // the variables in all sections
	Extra                   // only the variables outside .data..percpu
)

var whichNames = [...]string{"", "percpu", "all", "extra"}

// String, Set and Type let a Which be the value of a flag.
func (w Which) String() string { return whichNames[w] }

func (w *Which) Set(name string) error {
	for i, n := range whichNames {
		if i > 0 && name == n {
			*w = Which(i)
			return nil
		}
	}
	return fmt.Errorf("must be percpu, all or extra")
}

func (*Which) Type() string { return "string" }

// Check returns an error if this choice needs something that is missing: a feature of the objects,
// the facts of the linked file, or a base.
func (w Which) Check(set features.Set, facts, base bool) error {
	switch {
	case w != All && w != Extra:
		return nil
	case !set.Has(features.GlobalVar):
		return fmt.Errorf("--variables=%v needs the feature %v; make the BTF objects and facts "+
			"with --features=default,%[2]v", w, features.GlobalVar)
	case !facts:
		return fmt.Errorf("--variables=%v needs --facts: only the linked file shows which variables "+
			"there are, and where", w)
	case w == Extra && !base:
		return fmt.Errorf("--variables=%v needs --base: first link the same objects with "+
			"--variables=%v, then pass that output as the last --base, after its own bases", w, PerCPU)
	}
	return nil
}

// Features returns the features for this choice. The parameter set has the objects' features.
func (w Which) Features(set features.Set) features.Set {
	if w == PerCPU && set.Has(features.GlobalVar) {
		return set.Without(features.GlobalVar).With(features.Var)
	}
	return set
}
