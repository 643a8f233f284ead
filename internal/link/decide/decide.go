// Package decide decides what is encoded besides the types of the units: which functions, with
// which prototypes; which variables, at which places in their sections; which declaration tags.
//
// The rules are pahole's (dwarves btf_encoder.c) and, for kfuncs, the kernel's, unless a comment
// says otherwise:
//
//	functions.go   functions
//	owners.go      which candidates are the function that is in the file
//	prototypes.go  when prototypes of one name are consistent
//	variables.go   variables
//	which.go       which variables are wanted
//	files.go       which file's variable a local symbol is
//	kfuncs.go      kfuncs, and pointers into an arena
//	tags.go        declaration tags
package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Type and Holder are those of package resolve.
type (
	Type   = resolve.Type
	Holder = resolve.Holder
)

// decider is the work of this package.
type decider struct {
	*resolve.Types
	*Decisions
	facts    *facts.Facts // nil: every candidate counts as linked
	features features.Set
	extra    bool // variables of other sections than that of per-CPU variables are all that is wanted
	symbols  *symbols.Index
	group    []Holder
	// encoded is, by FUNC or VAR that units hold, the made one that is encoded for it, 0 for none.
	encoded    map[Type]Type
	kfuncs     map[types.Str]Type  // by name: the encoded function
	arena      map[types.Hash]Type // by keyOf: the types of makeOnce
	keys       map[Type]types.Hash // their inverse, of made types
	prototypes looseHashes
	locals     locals
	places     places
}

// Decide selects from the candidates of the units. Without facts (nil) functions are linked under
// their own names, and variables only if they are from BTF that was linked before. extra selects
// only the variables that are not per CPU.
func Decide(t *resolve.Types, x *symbols.Index, f *facts.Facts, set features.Set, extra bool) (
	*Decisions, error) {
	if extra {
		set = set.Without(features.DeclTagKfuncs)
	}
	if err := checkFacts(f, set); err != nil {
		return nil, err
	}
	d := &decider{Types: t, Decisions: &Decisions{first: Type(t.Len())}, facts: f, features: set,
		extra: extra, symbols: x, encoded: map[Type]Type{}, kfuncs: map[types.Str]Type{},
		arena: map[types.Hash]Type{}, keys: map[Type]types.Hash{}, prototypes: looseHashes{Types: t}}
	if !extra {
		d.encodeFunctions()
		d.tagKfuncs()
	}
	if err := d.encodeVariables(); err != nil {
		return nil, err
	}
	d.attachTags()
	slices.SortFunc(d.Skipped, func(a, b Skipped) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason))
	})
	d.Skipped = slices.Compact(d.Skipped)
	return d.Decisions, nil
}

// holders returns the functions or variables of a name that units hold. The result is valid until
// the next call.
func (d *decider) holders(kind types.Kind, name types.Str) []Holder {
	d.group = d.Holders(kind, name, d.group[:0])
	return d.group
}

// checkFacts refuses facts without lists that the features need, because those functions or
// variables would be missing in silence.
func checkFacts(f *facts.Facts, set features.Set) error {
	if f == nil {
		return nil
	}
	missing := func(what string, feature features.Set) error {
		return fmt.Errorf("the objects were made with the feature %v, but the facts list no %s; "+
			"run btfgen facts with the --features of btfgen object", feature, what)
	}
	perCPU := f.Variables == facts.VariablesNone || f.Variables == facts.VariablesPerCPU
	switch {
	case set.Has(features.GlobalVar) && perCPU:
		return missing("variables of other sections than "+facts.PerCPUSection, features.GlobalVar)
	case set.Has(features.Var) && f.Variables == facts.VariablesNone:
		return missing("variables", features.Var)
	case set.Has(features.DeclTagKfuncs) && f.KfuncState == facts.KfuncsOff:
		return missing("kfuncs", features.DeclTagKfuncs)
	}
	return nil
}
