// Package object is the value that flows between the nodes of the graph: the shapes that some
// translation units hold, and for each unit which of them it holds.
//
// Merging is union: of shapes, and of units with their counts. It is associative and commutative,
// and loses nothing that the link needs. What a set of units means as a whole (which definition of
// a tag wins, which functions are encoded) is decided at link time alone.
package object

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Target is what the BTF is for. Objects of different targets can't be merged.
type Target struct {
	AddrSize int // bytes of an address, 4 or 8
	Order    binary.ByteOrder
	Machine  uint16 // ELF e_machine; 0 for raw BTF, which doesn't say
}

// String is the target in words, such as "EM_X86_64, 64-bit, LittleEndian".
func (t Target) String() string {
	return fmt.Sprintf("%v, %d-bit, %v", elf.Machine(t.Machine), 8*t.AddrSize, t.Order)
}

// Unit is what one translation unit holds.
type Unit struct {
	// File is the base name of the source file, as in the symbol table's STT_FILE; empty when it is
	// not known.
	File types.Str
	// FromBTF marks the content of BTF that was linked before (a raw .btf file): its FUNCs, VARs and
	// DATASECs are results, not candidates.
	FromBTF bool
	// Count is how many units have exactly this content.
	Count uint32
	// Items are the roots that the unit holds, each once, in any order: the tags that it defines,
	// its typedefs and base types, FUNC and VAR candidates, declaration tags. A linked unit lists
	// every type; for a forward declaration, which is no node of its own, the stub.
	Items []types.ID
}

// Object is a set of units over one graph of shapes.
type Object struct {
	Target Target
	// Features are those that the units were made with. If all units are linked ones, only Layout
	// means something: their BTF had that section.
	Features features.Set
	Graph    *types.Graph
	Units    []Unit
}

// New returns an object without units.
func New(t Target, f features.Set) *Object {
	return &Object{Target: t, Features: f, Graph: types.New()}
}
