// Package features has the features and sets of them. A feature is an optional part of BTF
// generation, and has the same name as in pahole's --btf_features. Only SkipUnencodable is not a
// feature of pahole.
package features

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Set is a set of features, one bit each. The zero value is the empty set.
type Set uint32

// The features, in pahole's order. Those up to DeclTagKfuncs are the default set, which kernel
// builds use today.
const (
	EncodeForce       Set = 1 << iota // leave out variables with a bad name or a void type
	Var                               // variables in the section .data..percpu
	Float                             // floating point types as FLOAT
	DeclTag                           // DECL_TAG from declaration annotations
	TypeTag                           // TYPE_TAG from type annotations
	Enum64                            // enums wider than 4 bytes as ENUM64
	OptimizedFunc                     // functions like foo.isra.0, under their base name
	ConsistentFunc                    // leave out functions whose prototypes differ
	DeclTagKfuncs                     // bpf_kfunc and bpf_fastcall on functions in .BTF_ids
	ReproducibleBuild                 // accepted; the result is always reproducible
	DistilledBase                     // .BTF.base in addition to .BTF for split BTF
	GlobalVar                         // variables in every PROGBITS and NOBITS section
	Attributes                        // type tags with kind_flag, such as address_space(1)
	TrueSignature                     // clones under their full names, with the parameters that remain
	Layout                            // the header's layout section (hdr_len 32), Linux 7.1
	Inline                            // the sites where functions were inlined, Linux 7.4
	SkipUnencodable                   // leave out units that BTF can't express, with a warning
	end
)

// names are the names of the features, in the order of their bits.
// Rule: features: which exist. docs/features.md explains them. Source: pahole pahole.c
// btf_features.
var names = []string{"encode_force", "var", "float", "decl_tag", "type_tag", "enum64",
	"optimized_func", "consistent_func", "decl_tag_kfuncs", "reproducible_build", "distilled_base",
	"global_var", "attributes", "true_signature", "layout", "inline", "skip_unencodable"}

const none = "none" // the empty set

// Of returns the set of the features in list.
func Of(list ...Set) (all Set) {
	for _, f := range list {
		all |= f
	}
	return all
}

// Default gives the set of features in "default".
func Default() Set { return DeclTagKfuncs<<1 - 1 }

// Recorded returns the features that BTF objects and facts record: objects may be merged whether or
// not units were left out.
func (s Set) Recorded() Set { return s.Without(SkipUnencodable) }

// All gives the set of every known feature.
func All() Set { return end - 1 }

// PaholeAll gives the set of features in "all", as in pahole 1.32. It leaves out SkipUnencodable
// and three features of pahole: a distilled base requires a base, and the layout section and sites
// of inlined functions require a new kernel.
func PaholeAll() Set {
	return All().Without(DistilledBase).Without(Layout).Without(Inline).Without(SkipUnencodable)
}

// Merging is a feature of pahole 1.32. Parse accepts its name, but it isn't a feature here, because
// the units of a file are always merged.
const Merging = "force_cu_merging"

// Has reports whether the feature is in the set.
func (s Set) Has(f Set) bool { return f != 0 && s&f == f }

// With gives the set with the feature added.
func (s Set) With(f Set) Set { return s | f }

// Without gives the set with the feature taken out.
func (s Set) Without(f Set) Set { return s &^ f }

// String gives the set's names in canonical order, separated by commas, or "none" for the empty
// set. Parse returns the same set for this string.
func (s Set) String() string {
	var list []string
	for i, name := range names {
		if s.Has(1 << i) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ",")
}

// Parse reads a comma-separated list of feature names, from left to right:
//
//	name     adds the feature
//	default  adds the default set
//	all      adds what PaholeAll gives
//	none     is the empty set; it must be the only item
//	+name    adds the feature; as the first item it starts from the default set
//	-name    takes the feature out; as the first item it starts from the default set
//
// "default", names without a sign, a leading "+", and the empty list (which is the empty set) mean
// the same as in pahole. Unlike pahole, but like its --btf_features_strict, Parse returns an error
// for an unknown name.
func Parse(list string) (Set, error) {
	if list == "" || list == none {
		return 0, nil
	}
	var s Set
	for i, item := range strings.Split(list, ",") {
		name, minus := strings.CutPrefix(item, "-")
		plus := false
		if !minus {
			name, plus = strings.CutPrefix(item, "+")
		}
		if i == 0 && (plus || minus) {
			s = Default()
		}
		set, err := featuresOf(name)
		if err != nil {
			return 0, fmt.Errorf("features %q: %w", list, err)
		}
		if minus {
			s &^= set
		} else {
			s |= set
		}
	}
	return s, nil
}

// Named gives the feature with this name.
func Named(name string) (f Set, ok bool) {
	i := slices.Index(names, name)
	return 1 << max(i, 0), i >= 0
}

// featuresOf returns the features that one word of a list selects.
func featuresOf(name string) (Set, error) {
	if f, ok := Named(name); ok {
		return f, nil
	}
	known := strings.Join(names, ", ") + ", " + Merging
	switch {
	case name == "default":
		return Default(), nil
	case name == "all":
		return PaholeAll(), nil
	case name == Merging:
		return 0, nil
	case name == "":
		return 0, fmt.Errorf("empty name (the known features are %s)", known)
	case name == none:
		return 0, errors.New(`"none" must be the only name: remove it from the list, or all others`)
	default:
		return 0, fmt.Errorf(`unknown feature %q (the known features are %s; "default", "all" and `+
			`"none" are allowed if they are the only name)`, name, known)
	}
}
