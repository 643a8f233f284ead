package conflict

// Schema is the version of the report's JSON form, which docs/conflicts.md describes. It is raised
// when a field changes its meaning or goes; new fields don't raise it.
const Schema = 1

// Report is what Find makes.
type Report struct {
	Schema int `json:"schema"`
	Files  int `json:"files"` // how many inputs
	// how many compilation units they hold; one for BTF that was linked before
	Units int `json:"units"`
	// Conflicts are by name, then kind: first those of their own right, then those that differ
	// because of others.
	Conflicts []Conflict `json:"conflicts"`
}

// Name is a kind of type and a name.
type Name struct {
	Kind string `json:"kind"` // struct, union, enum, typedef, int or float
	Name string `json:"name"`
}

func (n Name) String() string {
	if n.Kind == "int" || n.Kind == "float" {
		return "base type " + n.Name
	}
	return n.Kind + " " + n.Name
}

// Conflict is a name with several definitions.
type Conflict struct {
	Name
	// Because names the conflicts by which the definitions differ; it is empty if some differ by
	// themselves.
	Because     []Name       `json:"because"`
	Definitions []Definition `json:"definitions"` // a base's first, then by units, most first
}

// Definition is one definition of a name.
type Definition struct {
	ID    string   `json:"id"`    // A, B …
	Size  int      `json:"size"`  // bytes; 0 for a typedef
	Units int      `json:"units"` // how many units hold it
	Files []Holder `json:"files"` // the inputs that hold it, by path
	// Difference says how this definition differs from the first; it is missing in the first.
	Difference *Difference `json:"difference,omitempty"`
}

// Holder is an input that holds a definition.
type Holder struct {
	Path  string `json:"path"`
	Base  bool   `json:"base"`  // it was given as a base
	Units int    `json:"units"` // how many units in it hold the definition; 0 for a base
	// base names of the units' source files, as far as they are known
	Sources []string `json:"sources"`
}

// Difference is the first difference of two definitions.
type Difference struct {
	Where   string `json:"where"`             // such as "member bar.baz"; empty for the type itself
	What    string `json:"what"`              // such as "bit offset 64 vs 32"
	Because *Name  `json:"because,omitempty"` // the two differ only through this one
}

func (d *Difference) String() string {
	if d.Where == "" {
		return d.What
	}
	return d.Where + ": " + d.What
}

// Own returns the conflicts of their own right and the others.
func (r *Report) Own() (own, others []Conflict) {
	for i := range r.Conflicts {
		if len(r.Conflicts[i].Because) > 0 {
			return r.Conflicts[:i], r.Conflicts[i:]
		}
	}
	return r.Conflicts, nil
}
