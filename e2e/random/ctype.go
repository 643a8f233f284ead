package random

import "strings"

// kind is the form of a C type.
type kind int

const (
	base      kind = iota // a base type by its name
	aliased               // a typedef name
	tagged                // a struct, union or enum by its tag
	body                  // a definition of a struct, union or enum where the type is used
	pointer               // a pointer
	array                 // an array
	function              // a function
	qualified             // const, volatile, __restrict or a type tag
)

// ctype is a C type as it is written at one place.
type ctype struct {
	kind     kind
	text     string // the base type's name, the qualifier, the tag's attribute, or the array's length
	bits     int    // of a base type that can be a bit-field, else 0
	to       *ctype
	params   []*node // of a function
	scalar   bool    // of a function: all parameters take 0 as an argument
	tag      *tag    // of tagged, and of a body with a tag
	alias    *alias
	body     *node // the definition
	flexible bool  // of a body: it ends with a flexible array
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

// qualifier writes what t adds to the type that it qualifies. Programs are the same without tags.
func (t *ctype) qualifier() *node {
	n := text(t.text + " ")
	n.optional = strings.HasPrefix(t.text, "__attribute__")
	return n
}

// specifier writes the type that a declaration begins with.
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

// complete says whether there can be an object of type t.
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

// isFunction says whether t is a function's type, maybe by a typedef name or with a type tag.
func (t *ctype) isFunction() bool {
	return t.kind == function || t.kind == aliased && t.alias.to.isFunction() ||
		t.kind == qualified && t.to.isFunction()
}

// isArray says whether t is an array, maybe by a typedef name or with a type tag.
func (t *ctype) isArray() bool {
	return t.kind == array || t.kind == aliased && t.alias.to.isArray() ||
		t.kind == qualified && t.to.isArray()
}

// endsOpen says whether t ends with a flexible array.
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

// fieldBits is how wide a bit-field of type t may be; 0: there can be none.
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
