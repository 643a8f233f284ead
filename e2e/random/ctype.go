package random

import "strings"

type kind int

const (
	base      kind = iota // the name of a base type
	aliased               // a typedef name
	tagged                // the tag of a struct, union or enum
	body                  // a struct, union or enum that is defined where it is used
	pointer               // a pointer
	array                 // an array
	function              // a function
	qualified             // const, volatile, __restrict or a type tag
)

// ctype is a C type as it is written in one place in the source.
type ctype struct {
	kind     kind
	text     string // a base type's name, a qualifier, a type tag's attribute, or an array's length
	bits     int    // the width of a base type that a bit-field can have; 0 for other types
	to       *ctype
	params   []*node // the parameters of a function
	scalar   bool    // of a function: whether 0 is a valid argument for each parameter
	tag      *tag    // the tag of a tagged type, or of a body that has a tag
	alias    *alias
	body     *node // the definition
	flexible bool  // whether the body ends with a flexible array
}

// declare writes the declaration of a name (which may be empty) with type t.
func declare(t *ctype, name string) *node {
	d := text(name)
	qualifiers := sequence()
	for {
		switch t.kind {
		case pointer:
			d = sequence("*", d)
			if t.to.kind == array || t.to.kind == function {
				d = sequence("(", d, ")")
			}
		case array:
			d = sequence(d, "["+t.text+"]")
		case function:
			d = sequence(d, "(", &node{kids: t.params, separator: ", ", empty: "void"}, ")")
		case qualified:
			switch t.to.kind {
			case pointer:
				d = sequence(t.qualifier(), d)
			case function, array:
				d = sequence("(", t.qualifier(), d, ")")
			default:
				qualifiers.kids = append(qualifiers.kids, t.qualifier())
			}
		default:
			return sequence(t.specifier(), " ", qualifiers, d)
		}
		t = t.to
	}
}

// qualifier writes the qualifier or type tag of t. Shrinking may remove type tags.
func (t *ctype) qualifier() *node {
	n := text(t.text + " ")
	n.optional = strings.HasPrefix(t.text, "__attribute__")
	return n
}

func (t *ctype) specifier() *node {
	switch t.kind {
	case aliased:
		return text(t.alias.name)
	case tagged:
		return text(t.tag.keyword + " " + t.tag.name)
	case body:
		return t.body
	}
	return text(t.text)
}

// complete reports whether objects of type t can exist.
func (t *ctype) complete() bool {
	switch t.kind {
	case base:
		return t.text != "void"
	case aliased:
		return t.alias.to.complete()
	case tagged:
		return t.tag.complete
	case array, qualified:
		return t.to.complete()
	}
	return t.kind != function
}

// isFunction reports whether t is a function type. It looks through typedef names, qualifiers and
// type tags.
func (t *ctype) isFunction() bool {
	return t.kind == function || t.kind == aliased && t.alias.to.isFunction() ||
		t.kind == qualified && t.to.isFunction()
}

// isArray reports whether t is an array type. It looks through typedef names, qualifiers and type
// tags.
func (t *ctype) isArray() bool {
	return t.kind == array || t.kind == aliased && t.alias.to.isArray() ||
		t.kind == qualified && t.to.isArray()
}

// endsOpen reports whether t ends with a flexible array.
func (t *ctype) endsOpen() bool {
	switch t.kind {
	case tagged:
		return t.tag.flexible
	case body:
		return t.flexible
	case aliased:
		return t.alias.to.endsOpen()
	case array, qualified:
		return t.to.endsOpen()
	}
	return false
}

// fieldBits returns the largest width of a bit-field of type t, or 0 if there is no such bit-field.
func (t *ctype) fieldBits() int {
	switch t.kind {
	case base:
		return t.bits
	case aliased:
		return t.alias.to.fieldBits()
	case tagged, body:
		if t.tag != nil && t.tag.keyword == "enum" && t.tag.complete {
			return t.tag.bits
		}
	}
	return 0
}
