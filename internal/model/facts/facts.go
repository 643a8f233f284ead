// Package facts has what only a linked ELF file shows about the functions and variables of its
// object files: which of them the linker kept, under which symbol names, how often, and from which
// source files; where variables are in their sections; which functions are kfuncs.
//
// Facts contain neither code nor addresses of functions, and nothing in them depends on the order
// in which object files were linked. So a change that only moves code doesn't change them. Their
// text form (Write, Parse) is canonical: equal facts have equal bytes. docs/facts.md describes it.
package facts

import (
	"debug/elf"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Facts are the facts about one linked file: an executable, a shared object, or a kernel module
// (ET_REL). Parse returns the slices in the order that their comments state. Extract leaves
// functions, and files with the same name, unsorted.
type Facts struct {
	Machine   elf.Machine
	AddrSize  int  // bytes of an address: 4 or 8
	BigEndian bool // byte order of the file

	// HasFiles reports whether the symbol table names the sources of local symbols: it has STT_FILE
	// symbols, and the file was linked without link-time optimization. Otherwise, all local symbols
	// are in one File without a name.
	HasFiles bool
	// Variables says which sections' variables are in Vars.
	Variables Variables
	// KfuncState says whether Kfuncs is complete and, if it isn't, why.
	KfuncState KfuncState

	Kfuncs           []Kfunc        // by name
	SeveralAddresses []RepeatedName // base names with several addresses; by name
	Globals          []string       // functions with global or weak symbols; sorted
	Files            []File         // sources with local symbols; by name, functions, objects
	Vars             []Variable     // variables; by section, offset, name, size, file
}

// Variables says which sections' variables are listed.
type Variables string

// The choices of sections.
const (
	VariablesNone   Variables = "none"   // neither var nor global_var is wanted
	VariablesPerCPU Variables = "percpu" // var: the section .data..percpu
	VariablesAll    Variables = "all"    // global_var: all allocated PROGBITS and NOBITS sections
)

// PerCPUSection is the only section whose variables the feature var selects. In object files, the
// names of its input sections begin with that name (.data..percpu..shared_aligned …).
const PerCPUSection = ".data..percpu"

// KfuncState says whether the kfuncs could be listed.
type KfuncState string

// The states of the list of kfuncs.
const (
	KfuncsOff    KfuncState = "off"    // the feature decl_tag_kfuncs is not wanted
	KfuncsAbsent KfuncState = "absent" // there is no section .BTF_ids
	// .BTF_ids has no contents (SHT_NOBITS), as in separate debug files
	KfuncsStripped KfuncState = "stripped"
	KfuncsListed   KfuncState = "listed"
)

// File is one source file, under the base name that an STT_FILE symbol gives it. Several source
// files may have the same base name; there is a File for each STT_FILE symbol. A source file has no
// File if nothing from it is linked: either it is in an archive member that nothing needed, or
// --gc-sections dropped the whole object file with its debugging information.
type File struct {
	Name  string   // "" for local symbols that no named STT_FILE precedes
	Funcs []string // names of local functions, suffixes like .isra.0 included; sorted
}

// Variable is one variable: an STT_OBJECT symbol.
type Variable struct {
	Name    string
	Section string // name of the output section
	Offset  uint64 // in the section, in bytes
	Size    uint64 // in bytes
	Local   bool   // STB_LOCAL; equivalent to File >= 0
	File    int    // index in Facts.Files of a local symbol's file; -1 if global
	// Definition distinguishes static variables with the same name in files with the same name
	// (object.VariableHash). It is zero for all other variables, and for those that the debugging
	// information of the linked file lacks. Package statics sets it.
	Definition types.Hash
}

// RepeatedName is a base name that has several symbols.
type RepeatedName struct {
	Name      string
	Addresses int // how many different addresses its symbols have
}

// Kfunc is a function in a kfunc set of .BTF_ids.
type Kfunc struct {
	Name string
	// Flags are those KF_* flags (include/linux/btf.h) that are visible in BTF (kfuncFlags). If
	// several sets list the function, Flags is the union of their flags. pahole uses the flags of the
	// last symbol (btf_encoder__collect_kfuncs), but facts must not depend on such an order.
	Flags uint32
}
