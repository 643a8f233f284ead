// Package decide decides what is encoded in addition to the types of the units: functions with
// their prototypes, variables with their places in sections, and declaration tags.
//
// The rules are those of pahole (dwarves btf_encoder.c) and, for kfuncs, those of the kernel,
// unless a comment says otherwise. Each file decides one thing:
//
//	functions.go   functions
//	parts.go       the names of functions, divided among threads
//	owners.go      which candidates are the function in the linked file
//	places.go      the units and source files of functions with several candidates
//	prototypes.go  when the prototypes of a function are consistent
//	variables.go   variables
//	which.go       which variables are wanted
//	files.go       which source file's variable a local symbol belongs to
//	kfuncs.go      kfuncs, and pointers into an arena
//	tags.go        declaration tags
package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// These come from package resolve.
type (
	Type   = resolve.Type
	Node   = resolve.Node
	Elem   = resolve.Elem
	Holder = resolve.Holder
)

type decider struct {
	*Decisions
	shapes     *survey.Shapes
	types      *resolve.Candidates
	facts      *facts.Facts // nil: every candidate counts as linked
	features   features.Set
	extra      bool // only variables outside the per-CPU section are wanted
	symbols    *symbols.Index
	group      []Holder
	kfuncs     map[types.Str]Type // by name: the encoded function
	once       once
	prototypes looseHashes
	locals     locals
	places     *places // see ofTheirFiles
	undecided  []types.Str
	jobs       int // threads
}

// Decide selects the functions and variables to encode from those of the units (the candidates). If
// f is nil, every function counts as linked under its own name, but a variable counts as linked
// only if it comes from BTF that is already linked. If the parameter extra is set, only variables
// that are not per-CPU are selected. The decisions don't depend on jobs, the number of threads.
func Decide(t *resolve.Candidates, x *symbols.Index, f *facts.Facts, set features.Set, extra bool,
	jobs int) (*Decisions, error) {
	if extra {
		set = set.Without(features.DeclTagKfuncs)
	}
	if err := checkFacts(f, set); err != nil {
		return nil, err
	}
	d := &decider{shapes: t.Shapes, types: t, facts: f, features: set, extra: extra, symbols: x,
		jobs: jobs, Decisions: &Decisions{first: Type(t.Len()), encoded: map[Type]Type{}},
		kfuncs: map[types.Str]Type{}, once: once{map[types.Hash]Type{}, map[Type]types.Hash{}},
		prototypes: looseHashes{shapes: t.Shapes}}
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

// holders returns the units' candidates with this name, in a list that the next call overwrites.
func (d *decider) holders(kind types.Kind, name types.Str) []Holder {
	d.group = d.types.Holders(kind, name, d.group[:0])
	return d.group
}

// checkFacts returns an error if the facts lack a list that the features need.
func checkFacts(f *facts.Facts, set features.Set) error {
	if f == nil {
		return nil
	}
	missing := func(what string, feature features.Set) error {
		return fmt.Errorf("the objects were made with the feature %v, but the facts list no %s; "+
			"run btfgen facts with the same --features as btfgen object", feature, what)
	}
	perCPU := f.Variables == facts.VariablesNone || f.Variables == facts.VariablesPerCPU
	switch {
	case set.Has(features.GlobalVar) && perCPU:
		return missing("variables outside section "+facts.PerCPUSection, features.GlobalVar)
	case set.Has(features.Var) && f.Variables == facts.VariablesNone:
		return missing("variables", features.Var)
	case set.Has(features.DeclTagKfuncs) && f.KfuncState == facts.KfuncsOff:
		return missing("kfuncs", features.DeclTagKfuncs)
	}
	return nil
}
