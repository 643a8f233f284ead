package decide

import "github.com/rules-btf/rules_btf/internal/model/types"

// Decisions are the result of this package: which functions, variables, sections and declaration
// tags are encoded in addition to the units' types, and which are not.
//
// Everything that is encoded is a made type. For kfuncs, there are also made prototypes, pointers
// and type tags. A made type has no hash. Functions are made before all other types.
type Decisions struct {
	// Skipped are the linked file's functions and variables that are not encoded, sorted by name.
	Skipped []Skipped

	// encoded maps a FUNC or VAR that units hold to the made type that encodes it, or to 0.
	encoded map[Type]Type

	first     Type // the number of the first made type
	functions []function
	nodes     []Node // the other made types
	elems     []Elem
}

// function is a made FUNC. It is smaller than a node, because there are many functions.
type function struct {
	name    types.Str
	linkage uint32
	proto   Type
}

// Len is the number of made types.
func (d *Decisions) Len() int { return len(d.functions) + len(d.nodes) }

// Made calls yield with each made type.
func (d *Decisions) Made(yield func(Type, Node) bool) {
	for k := d.first; k < d.first+Type(d.Len()); k++ {
		if !yield(k, d.At(k)) {
			return
		}
	}
}

// Encoded returns the made type that encodes k, a FUNC or VAR in BTF that was linked before, or 0
// if k isn't encoded.
func (d *Decisions) Encoded(k Type) Type { return d.encoded[k] }

// IsMade reports whether k is a made type. Otherwise, it is a type of package resolve.
func (d *Decisions) IsMade(k Type) bool { return k >= d.first }

// At returns a made type.
func (d *Decisions) At(k Type) Node {
	i := int(k - d.first)
	if i >= len(d.functions) {
		return d.nodes[i-len(d.functions)]
	}
	f := &d.functions[i]
	return Node{Kind: types.KindFunc, Name: f.name, Aux: f.linkage, Ref: f.proto}
}

// Elems returns the elements of a made type.
func (d *Decisions) Elems(n *Node) []Elem { return d.elems[n.First : n.First+n.Count] }

func (d *Decisions) function(name types.Str, linkage uint32, proto Type) Type {
	d.functions = append(d.functions, function{name, linkage, proto})
	return d.first + Type(len(d.functions)-1)
}

func (d *Decisions) make(n Node, elems ...Elem) Type {
	n.First, n.Count = uint32(len(d.elems)), uint32(len(elems))
	d.elems = append(d.elems, elems...)
	d.nodes = append(d.nodes, n)
	return d.first + Type(d.Len()-1)
}
