// Package features names the optional parts of BTF generation, as in
// pahole's --btf_features, and holds a choice of them.
package features

import (
	"fmt"
	"strings"
)

// Feature is one optional part of BTF generation. Its value is a bit of Set.
type Feature uint32

// The features, in the order in which pahole lists them. The first nine form
// the default set, the one that kernel builds of today use.
const (
	// variables with an invalid name or a void type are left out instead of fatal
	EncodeForce    Feature = 1 << iota
	Var                    // variables of the section .data..percpu
	Float                  // floating point types as FLOAT
	DeclTag                // DECL_TAG from declaration annotations
	TypeTag                // TYPE_TAG from type annotations
	Enum64                 // enums wider than 4 bytes as ENUM64
	OptimizedFunc          // functions with suffixes like .isra.0 under their base name
	ConsistentFunc         // functions with disagreeing prototypes are left out
	// DECL_TAG bpf_kfunc and bpf_fastcall on the functions of .BTF_ids
	DeclTagKfuncs
	ReproducibleBuild // accepted; the result is always reproducible
	DistilledBase     // .BTF.base beside .BTF for split BTF
	GlobalVar         // variables of every PROGBITS and NOBITS section
	// type tags with kind_flag, e.g. address_space(1) on arena kfuncs
	Attributes
	// changed functions under their suffixed name with the remaining parameters
	TrueSignature
	// the header's layout section (hdr_len 32, Linux 7.1 and later)
	Layout
)

// table maps features to their names, in canonical order.
var table = []struct {
	feature   Feature
	name      string
	byDefault bool
}{
	{EncodeForce, "encode_force", true},
	{Var, "var", true},
	{Float, "float", true},
	{DeclTag, "decl_tag", true},
	{TypeTag, "type_tag", true},
	{Enum64, "enum64", true},
	{OptimizedFunc, "optimized_func", true},
	{ConsistentFunc, "consistent_func", true},
	{DeclTagKfuncs, "decl_tag_kfuncs", true},
	{ReproducibleBuild, "reproducible_build", false},
	{DistilledBase, "distilled_base", false},
	{GlobalVar, "global_var", false},
	{Attributes, "attributes", false},
	{TrueSignature, "true_signature", false},
	{Layout, "layout", false},
}

// The words of a list that name no single feature.
const (
	wordDefault = "default"
	wordAll     = "all"
	wordNone    = "none"
)

// String gives the feature's name.
func (f Feature) String() string {
	for _, e := range table {
		if e.feature == f {
			return e.name
		}
	}
	return fmt.Sprintf("feature(%#x)", uint32(f))
}

// Set is a set of features, one bit each. The zero value is the empty set.
type Set uint32

// Of gives the set of the named features.
func Of(list ...Feature) Set {
	var s Set
	for _, f := range list {
		s |= Set(f)
	}
	return s
}

// Default gives the set that "default" stands for.
func Default() Set {
	var s Set
	for _, e := range table {
		if e.byDefault {
			s |= Set(e.feature)
		}
	}
	return s
}

// All gives the set of every known feature.
func All() Set {
	var s Set
	for _, e := range table {
		s |= Set(e.feature)
	}
	return s
}

// Names lists the names of all known features in canonical order.
func Names() []string {
	names := make([]string, len(table))
	for i, e := range table {
		names[i] = e.name
	}
	return names
}

// Has tells whether the feature is in the set.
func (s Set) Has(f Feature) bool { return f != 0 && s&Set(f) == Set(f) }

// With gives the set with the feature added.
func (s Set) With(f Feature) Set { return s | Set(f) }

// Without gives the set with the feature taken out.
func (s Set) Without(f Feature) Set { return s &^ Set(f) }

// String gives the set's names in canonical order, separated by commas, and
// "none" for the empty set. Parse reads it back as the same set.
func (s Set) String() string {
	var names []string
	for _, e := range table {
		if s.Has(e.feature) {
			names = append(names, e.name)
		}
	}
	if len(names) == 0 {
		return wordNone
	}
	return strings.Join(names, ",")
}

// Parse reads a comma-separated list of feature names, from left to right:
//
//	name     adds the feature
//	default  adds the default set
//	all      adds every feature
//	none     stands alone: the empty set
//	+name    adds the feature; as the first item it starts from the default set
//	-name    takes the feature out; as the first item it starts from the default set
//
// "default", plain names and the leading "+" mean what they mean to pahole.
// The empty list is the empty set, as with pahole. Unlike with pahole (but
// like its --btf_features_strict) an unknown name is an error.
func Parse(list string) (Set, error) {
	if list == "" || list == wordNone {
		return 0, nil
	}
	var s Set
	for i, item := range strings.Split(list, ",") {
		name, sign := item, byte(0)
		if item != "" && (item[0] == '+' || item[0] == '-') {
			name, sign = item[1:], item[0]
			if i == 0 {
				s = Default()
			}
		}
		set, err := named(name)
		if err != nil {
			return 0, fmt.Errorf("features %q: %w", list, err)
		}
		if sign == '-' {
			s &^= set
		} else {
			s |= set
		}
	}
	return s, nil
}

// named gives the set that one word of a list stands for.
func named(name string) (Set, error) {
	switch name {
	case wordDefault:
		return Default(), nil
	case wordAll:
		return All(), nil
	case "":
		return 0, fmt.Errorf("empty name (known: %s)", strings.Join(Names(), ", "))
	}
	for _, e := range table {
		if e.name == name {
			return Set(e.feature), nil
		}
	}
	return 0, fmt.Errorf("unknown feature %q (known: %s; default, all, none)", name,
		strings.Join(Names(), ", "))
}
