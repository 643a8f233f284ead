package conflict

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Schema is the version of the report's JSON form, which docs/conflicts.md describes. It increases
// when a field is removed or changes its meaning, not when a field is added.
const Schema = 1

// Report is the result of Find.
type Report struct {
	Schema int `json:"schema"`
	Files  int `json:"files"` // number of inputs
	// Units is how many compilation units the inputs hold; an input that is linked BTF counts as one.
	Units int `json:"units"`
	// Conflicts begins with the conflicts whose Because is empty; the others follow. Both parts are
	// sorted by name, then by kind.
	Conflicts []Conflict `json:"conflicts"`
}

// Name is the kind and the name of a type.
type Name struct {
	Kind string `json:"kind"` // struct, union, enum, typedef, int or float
	Name string `json:"name"`
}

func (n Name) String() string {
	if n.Kind == "int" || n.Kind == "float" {
		return "base type " + message.Printable(n.Name)
	}
	return n.Kind + " " + message.Printable(n.Name)
}

// Conflict is a name with several definitions.
type Conflict struct {
	Name
	// If the definitions differ only because types that they refer to differ, Because lists the
	// names of these types, each of which has its own Conflict. If some definitions differ by
	// themselves, Because is empty.
	Because     []Name       `json:"because"`
	Definitions []Definition `json:"definitions"` // first those in bases, then the rest by Units
}

// Definition is one definition of a name.
type Definition struct {
	ID    string `json:"id"`    // A, B …
	Size  int    `json:"size"`  // in bytes; 0 for a typedef
	Units int    `json:"units"` // how many units hold it
	// Files are the inputs that hold it, sorted by path; empty if units only refer to the type.
	Files []Holder `json:"files"`
	// Difference says how this definition differs from the first; it is nil for the first definition.
	Difference *Difference `json:"difference,omitempty"`

	typeID uint32
}

// Holder is an input that holds a definition.
type Holder struct {
	Path  string `json:"path"`
	Base  bool   `json:"base"`  // whether it was given as a base
	Units int    `json:"units"` // how many units in it hold the definition; 0 for a base
	// Sources are the base names of the units' source files, where known.
	Sources []string `json:"sources"`
}

// Difference is the first difference between two definitions.
type Difference struct {
	Where   string `json:"where"`             // "member bar.baz"; empty for the type itself
	What    string `json:"what"`              // "bit offset 64 vs 32"
	Because *Name  `json:"because,omitempty"` // the name whose definitions are the only cause
}

func (d *Difference) String() string {
	if d.Where == "" {
		return d.What
	}
	return d.Where + ": " + d.What
}

// Own returns two lists: the conflicts whose Because is empty, and the others.
func (r *Report) Own() (own, others []Conflict) {
	i := slices.IndexFunc(r.Conflicts, func(c Conflict) bool { return len(c.Because) > 0 })
	if i < 0 {
		return r.Conflicts, nil
	}
	return r.Conflicts[:i], r.Conflicts[i:]
}
