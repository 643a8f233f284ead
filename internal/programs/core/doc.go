// Package core resolves the CO-RE relocations of BPF programs ("compile once, run everywhere") as
// libbpf 1.8 does (relo_core.c): it finds the answer to a relocation in a kernel, and the types and
// members of the kernel's BTF on which this answer depends.
//
// A program is compiled with local types: its own view of the kernel's types. A relocation requests
// one fact about one of these types, such as the offset of a field, whether an enumerator exists,
// or the size of the type. The relocation names the local type and, for a field, the path to the
// field, as indexes: "0:1:2" is element 0 of an array of that type, then member 1 of that element,
// then member 2 of that member.
//
//	Parse    the local side: indexes become names, since kernels order members differently (spec.go)
//	Kernel   the candidates: kernel types with that name, without a suffix ___flavor (kernel.go)
//	match    which candidates have all of the fields, with compatible types (match.go, fields.go,
//	         compat.go)
//	value    the answer of each matching candidate (value.go)
//	Resolve  the answer on which they agree (resolve.go)
//
// For example, let a program read task->mm->owner. Its local types need only be
//
//	struct mm_struct { void *owner; };
//	struct task_struct { struct mm_struct *mm; };
//
// and the program has two relocations of kind byte_off: task_struct "0:0" and mm_struct "0:0". In a
// kernel whose mm_struct has the member owner in an anonymous struct, the path of the second
// relocation may be "0:0:31", and the answer is the byte offset of the member with that path.
package core

import "strconv"

// Kind says what a relocation requests: enum bpf_core_relo_kind in include/uapi/linux/bpf.h.
type Kind uint32

// The kinds of Linux 7.2.
const (
	FieldByteOffset Kind = iota
	FieldByteSize
	FieldExists
	FieldSigned
	FieldLShift
	FieldRShift
	TypeIDLocal
	TypeIDTarget
	TypeExists
	TypeSize
	EnumvalExists
	EnumvalValue
	TypeMatches

	// NumKinds is one more than the last known kind.
	NumKinds
)

var kindNames = [NumKinds]string{"byte_off", "byte_sz", "field_exists", "signed", "lshift_u64",
	"rshift_u64", "local_type_id", "target_type_id", "type_exists", "type_size", "enumval_exists",
	"enumval_value", "type_matches"}

// String is the kind as libbpf prints it, such as byte_off.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// IsField reports whether the kind asks about a field.
func (k Kind) IsField() bool { return k <= FieldRShift }

// IsEnumval reports whether the kind asks about an enumerator.
func (k Kind) IsEnumval() bool { return k == EnumvalExists || k == EnumvalValue }

// IsType reports whether the kind asks about a whole type.
func (k Kind) IsType() bool { return k < NumKinds && !k.IsField() && !k.IsEnumval() }

// IsGuard reports whether the answer to this kind is 0 if the kernel lacks what the relocation
// refers to. A program can test this answer before it uses that type, field or enumerator.
func (k Kind) IsGuard() bool {
	switch k {
	case FieldExists, TypeExists, TypeMatches, EnumvalExists, TypeSize, TypeIDTarget:
		return true
	}
	return false
}
