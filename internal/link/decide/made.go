package decide

import (
	"github.com/rules-btf/rules_btf/internal/types"
)

// Decisions are what is encoded besides the types of the units, and what is not.
type Decisions struct {
	// Skipped are the functions and variables of the linked file that are not encoded, by name,
	// then reason.
	Skipped []Skipped

	first Type // the number of the first made type
	list  []Made
	elems [][]Elem
}

// Made is a type that is made here: a function, a variable or a section; a declaration tag; or,
// for a kfunc, a prototype, pointer or type tag.
type Made struct {
	Kind  types.Kind
	Flag  bool
	Name  types.Str
	Size  uint32 // of a section, in bytes
	Aux   uint32 // as in types.Node
	Ref   Type
	elems uint32 // if it has some: their index in Decisions.elems + 1
}

// Elem is a variable of a section or a parameter, as in types.Elem.
type Elem struct {
	Name types.Str
	Ref  Type
	Val  uint64
}

// Len is how many made types there are.
func (d *Decisions) Len() int { return len(d.list) }

// Made calls yield with each made type.
func (d *Decisions) Made(yield func(Type, *Made) bool) {
	for i := range d.list {
		if !yield(d.first+Type(i), &d.list[i]) {
			return
		}
	}
}

// At returns the made type that k is, nil if it is one of package resolve.
func (d *Decisions) At(k Type) *Made {
	if k < d.first {
		return nil
	}
	return &d.list[k-d.first]
}

// Elems returns the elements of a made type.
func (d *Decisions) Elems(m *Made) []Elem {
	if m.elems == 0 {
		return nil
	}
	return d.elems[m.elems-1]
}

// make adds a made type.
func (d *Decisions) make(m Made, elems ...Elem) Type {
	if len(elems) > 0 {
		d.elems = append(d.elems, elems)
		m.elems = uint32(len(d.elems))
	}
	d.list = append(d.list, m)
	return d.first + Type(len(d.list)-1)
}
