package decide

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Which says which variables are encoded. It is the value of the flag --variables.
type Which uint8

// The choices. PerCPU and Extra are All in two parts: BTF of the default features, and split BTF on
// it that has only the other variables and the types that only they need.
const (
	ByFeatures Which = iota // All with the feature global_var, else PerCPU
	PerCPU                  // those of .data..percpu, as without global_var
	All                     // those of all sections
	Extra                   // those of all sections but .data..percpu, and nothing else
)

var whichNames = [...]string{"", "percpu", "all", "extra"}

// String, Set and Type make Which the value of a flag.
func (w Which) String() string { return whichNames[w] }

func (w *Which) Set(name string) error {
	for i, n := range whichNames {
		if i > 0 && name == n {
			*w = Which(i)
			return nil
		}
	}
	return fmt.Errorf("is none of percpu, all and extra")
}

// Choices are what Set reads, which is no list.
func (*Which) Choices() (words []string, list bool) { return whichNames[1:], false }

func (*Which) Type() string { return "string" }

// Check tells what is missing for the choice: a feature of the objects, the facts of the linked
// file, or a base.
func (w Which) Check(set features.Set, facts, base bool) error {
	switch {
	case w != All && w != Extra:
		return nil
	case !set.Has(features.GlobalVar):
		return fmt.Errorf("--variables=%v needs the feature %v, with which the objects and the facts "+
			"were not made: --features=default,%[2]v", w, features.GlobalVar)
	case !facts:
		return fmt.Errorf("--variables=%v needs --facts: only the linked file tells which variables "+
			"there are, and where", w)
	case w == Extra && !base:
		return fmt.Errorf("--variables=%v needs --base: the BTF of the same objects with "+
			"--variables=%v, after what that is based on", w, PerCPU)
	}
	return nil
}

// Features are those of objects that have all variables, for a link of some.
func (w Which) Features(set features.Set) features.Set {
	if w == PerCPU && set.Has(features.GlobalVar) {
		return set.Without(features.GlobalVar).With(features.Var)
	}
	return set
}
