// Package needs finds out what BPF programs need from a kernel: their CO-RE relocations, with the
// parts of the local types at which these relocations look, and the functions, types and symbols of
// the kernel that the programs name. Needs contain no code, paths, lines or offsets. So an
// edit of a program changes them only if it changes what the program refers to, under which
// conditions, how many bytes it reads, or how many arguments of a hook it reads.
//
//	want.go     a local type, reduced to what CO-RE looks at
//	merge.go    the parts of one local type that several relocations look at
//	extract.go  the needs of object files
//	object.go   what libbpf resolves for a whole object file
//	assemble.go  the needs of all programs, sorted, with one BTF of local types
//	symbol.go   what programs name in a kernel
//	structops.go  the needs of struct_ops maps
//	kptr.go     the needs of maps that have pointers to the kernel's objects
//	types.go    local types as BTF
//	condition.go  the conditions under which a relocation is reached
//	file.go     the file: written and read
//	text.go     the needs as text and as JSON
//	diff.go     the differences between two files
//
// For example, a program that reads task->mm in an fentry hook of do_exit has the needs
//
//	program handle_exit  fentry/do_exit
//	  fentry function do_exit
//	  byte_off struct task_struct.mm, read
//
// and the local type struct task_struct { void *mm; }, whatever vmlinux.h the program includes.
//
// The content is canonical: programs are sorted by name, relocations by what they need, types by
// their first use, and members by name.
package needs

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// Needs is what programs need.
type Needs struct {
	Order binary.ByteOrder
	// Local has the local types.
	Local    *core.BTF
	Programs []Program // by name, section and content
}

// Program is what one program needs.
type Program struct {
	Name, Section string
	// Relocations are sorted by what they need, without duplicates. Their types are in Needs.Local.
	Relocations []core.Relocation
	// Conditions has, by the numbers of facts, the condition under which the verifier reaches a
	// relocation's instruction, or an instruction that it refuses if a weak symbol doesn't exist. A
	// relocation or symbol without a condition can be reached in all kernels.
	//
	// A fact about a kernel is the answer to a relocation, or is 1 if a symbol exists. Its number is
	// the relocation's index in Relocations, or len(Relocations) plus the symbol's index in Symbols.
	Conditions map[int]Condition
	// Certain is about settings: values in .rodata and .kconfig, which a loader or the kernel sets,
	// and whether symbols exist that aren't in BTF. If an instruction is reached only for some
	// settings, Certain has the condition under which it is reached for all settings.
	Certain map[int]Condition
	// Symbols are the functions, variables and types of the kernel that the program names.
	Symbols []Symbol
	// Object numbers the object file of the program, from 0. libbpf loads none of the programs in an
	// object file if it can't resolve something for the whole file: see object.go.
	Object int
	// Shared has the indexes in Relocations of those that libbpf resolves for the whole object file.
	Shared []int
	// Refused are what libbpf refuses for every kernel.
	Refused []Refused
}

// Reached reports whether the instruction of a relocation or weak symbol can be reached; value
// returns the facts about a kernel.
func (p *Program) Reached(fact int, value func(fact int) uint64) bool {
	c, ok := p.Conditions[fact]
	return !ok || c.Holds(value)
}

// CertainlyReached reports whether the instruction is reached for all settings. The verifier
// follows each path separately, so in rare cases it skips an instruction for which the result is
// true (see package reach).
func (p *Program) CertainlyReached(fact int, value func(fact int) uint64) bool {
	c, ok := p.Certain[fact]
	return p.Reached(fact, value) && (!ok || c.Holds(value))
}

func compareBools(a, b bool) int {
	if a == b {
		return 0
	}
	if b {
		return -1
	}
	return 1
}

func (p *Program) compare(o *Program) int {
	return cmp.Or(cmp.Compare(p.Name, o.Name), cmp.Compare(p.Section, o.Section),
		slices.CompareFunc(p.Relocations, o.Relocations, compareRelocations),
		slices.CompareFunc(p.Symbols, o.Symbols, compareSymbols),
		cmp.Compare(p.conditions(), o.conditions()),
		slices.Compare(p.Shared, o.Shared), slices.CompareFunc(p.Refused, o.Refused, compareRefused),
		cmp.Compare(p.Object, o.Object))
}

// conditions returns the conditions as lines of the file.
func (p *Program) conditions() string {
	var text strings.Builder
	for _, i := range slices.Sorted(maps.Keys(p.Conditions)) {
		text.WriteString(conditionLine("when", i, p.Conditions[i]) + "\n")
	}
	for _, i := range slices.Sorted(maps.Keys(p.Certain)) {
		text.WriteString(conditionLine("certain", i, p.Certain[i]) + "\n")
	}
	return text.String()
}

func compareRelocations(a, b core.Relocation) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Access, b.Access), cmp.Compare(a.Memory, b.Memory))
}
