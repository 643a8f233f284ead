// Package object has the data that the actions of a build pass to each other: the shapes of some
// CUs, and for each CU a list of its shapes.
//
// Take two CUs:
//
//	a.c                                   b.c
//	struct opts { int level; };           struct opts;
//	struct dev { struct opts *o; };       struct dev { struct opts *o; };
//	struct dev a;                         struct dev b;
//
// In the shape of struct dev, struct opts is only a name, so both CUs have the same shape. Merging
// their objects gives each shape once, and two units (the base type int isn't shown):
//
//	shapes  struct opts, struct dev, variable a, variable b
//	units   a.c: struct opts, struct dev, a
//	        b.c: struct dev, b
//
// b.c only declares struct opts, so the unit doesn't list it; the link decides to which definition
// the name refers there.
//
// Objects are made, written, read and merged as follows:
//
//  1. Package convert makes an object from DWARF; [FromBTF] makes one from BTF that is already
//     linked. If such BTF has several definitions of struct opts, references get pins
//     (definitions.go).
//  2. [Write] writes a .btfo file (write.go, numbering.go, write_units.go), in an order that
//     depends on content alone.
//  3. [ReadFile] reads such a file (read.go, read_units.go, shapes.go).
//  4. [Merge] unites shapes and units; [MergeFiles] does so straight from files (absorb.go).
//     Merging is associative and commutative. Units of equal content are stored once, with a count.
//
// Only the link decides which definition of a tag wins, and which functions are encoded.
package object

import (
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Unit is the content of one translation unit.
// Rule: units: how they are named. See the field File.
type Unit struct {
	// File is the unit's name: the base name of the source file, as in the symbol table's STT_FILE,
	// or empty.
	File types.Str
	// FromBTF marks the content of BTF that is already linked, such as a raw .btf file. Its FUNCs,
	// VARs and DATASECs are results, not candidates.
	FromBTF bool
	// Count is the number of units with exactly this content.
	Count uint32
	// Items are the roots of the unit, each once, in any order: the tags that it defines, typedefs,
	// base types, FUNC and VAR candidates, declaration tags. A unit from BTF lists every type; a
	// forward declaration has no node, only a stub, so the stub is listed.
	Items []types.ID
}

// Object is a set of units that share one graph of shapes.
type Object struct {
	Target Target
	// Features are the features with which the units were made. If all units are from BTF, only
	// Layout matters: it says that the BTF had a layout section.
	Features features.Set
	Graph    *types.Graph
	Units    []Unit

	finite [2]int // the numbers of units and nodes when Endless last found nothing
}

// New returns an object without units.
func New(t Target, f features.Set) *Object {
	return &Object{Target: t, Features: f, Graph: types.New()}
}
