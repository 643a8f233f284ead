// Package object is what the actions of a build pass on: the shapes of some CUs, and for each CU a
// list of the shapes that it holds.
//
// Two CUs for an example:
//
//	a.c                                   b.c
//	struct opts { int level; };           struct opts;
//	struct dev { struct opts *o; };       struct dev { struct opts *o; };
//	struct dev a;                         struct dev b;
//
// In the shape of struct dev, struct opts is only a name, so both CUs have the same shape. The merge
// of their objects has each shape once, and two units (the base type int is left out here):
//
//	shapes  struct opts, struct dev, variable a, variable b
//	units   a.c: struct opts, struct dev, a
//	        b.c: struct dev, b
//
// b.c only declares struct opts, so it doesn't list it; the link decides what it means there. The
// ways in and out:
//
//  1. Package convert makes an object of DWARF, [FromBTF] of BTF that was linked before. Where such
//     BTF has several struct opts, references get pins (definitions.go).
//  2. [Write] writes a .btfo file (write.go, numbering.go, write_units.go), in an order that
//     depends on content alone.
//  3. [ReadFile] reads one (read.go, read_units.go, shapes.go).
//  4. [Merge] unites shapes and units; [MergeFiles] does so straight from files (absorb.go). It is
//     associative and commutative. Units of equal content become one unit with a count.
//
// Which definition of a tag wins and which functions are encoded is decided by the link alone.
package object

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Target is the machine that the BTF is for. Objects of different targets can't be merged.
type Target struct {
	AddrSize int // bytes of an address, 4 or 8
	Order    binary.ByteOrder
	Machine  uint16 // ELF e_machine; 0 for raw BTF, which doesn't say
}

// String describes the target, as in "EM_X86_64, 64-bit, LittleEndian".
func (t Target) String() string {
	return fmt.Sprintf("%v, %d-bit, %v", elf.Machine(t.Machine), 8*t.AddrSize, t.Order)
}

// Unit is what one translation unit holds.
type Unit struct {
	// File is the base name of the source file, as in the symbol table's STT_FILE; empty if
	// unknown.
	File types.Str
	// FromBTF marks the content of BTF that was linked before, such as a raw .btf file. Its FUNCs,
	// VARs and DATASECs are results, not candidates.
	FromBTF bool
	// Count is the number of units with exactly this content.
	Count uint32
	// Items are the roots that the unit holds, each once, in any order: the tags that it defines,
	// typedefs, base types, FUNC and VAR candidates, declaration tags. A unit from BTF lists every
	// type; a forward declaration, which has no node, is listed by its stub.
	Items []types.ID
}

// Object is a set of units over one graph of shapes.
type Object struct {
	Target Target
	// Features are those that the units were made with. If all units are from BTF, only Layout
	// counts: their BTF had that section.
	Features features.Set
	Graph    *types.Graph
	Units    []Unit
}

// New returns an object without units.
func New(t Target, f features.Set) *Object {
	return &Object{Target: t, Features: f, Graph: types.New()}
}
