// Package facts is what only a linked ELF file knows about the functions and variables of its
// objects: which of them the linker kept, under which symbol names, how often, in which source
// files; where variables lie in their sections; which functions are kfuncs.
//
// Facts hold no address of a function and no byte of code, and nothing in them depends on the order
// in which objects were linked. So a change that only moves code leaves them as they were. Their
// text form (Write, Parse) is canonical: equal facts are equal bytes. docs/facts.md describes it.
package facts

import (
	"debug/elf"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Facts are the facts about one linked file: an executable, a shared object, or a kernel module
// (ET_REL). The slices are sorted as their comments say where they come from Parse; Extract leaves
// the functions, and files of one name, as they come.
type Facts struct {
	Machine   elf.Machine
	AddrSize  int  // bytes of an address: 4 or 8
	BigEndian bool // byte order of the file

	// HasFiles reports whether the symbol table names the sources of local symbols (STT_FILE, and no
	// link-time optimization). If not, all local symbols are in one File without a name.
	HasFiles bool
	// Variables tells which sections' variables Objects lists.
	Variables Variables
	// KfuncState reports whether Kfuncs is complete, and if not, why.
	KfuncState KfuncState

	Kfuncs           []Kfunc        // by name
	SeveralAddresses []RepeatedName // base names with more than one address; by name
	Globals          []string       // functions with global or weak symbols; sorted
	Files            []File         // sources with local symbols; by name, functions, objects
	Objects          []Object       // variables; by section, offset, name, size, file
}

// Variables says which sections' variables were listed.
type Variables string

// The choices of sections.
const (
	VariablesNone   Variables = "none"   // neither var nor global_var is wanted
	VariablesPerCPU Variables = "percpu" // var: the section .data..percpu
	VariablesAll    Variables = "all"    // global_var: all allocated PROGBITS and NOBITS sections
)

// PerCPUSection is the one section whose variables the feature var is about.
const PerCPUSection = ".data..percpu"

// KfuncState says whether the kfuncs could be listed.
type KfuncState string

// The states of the list of kfuncs.
const (
	KfuncsOff    KfuncState = "off"    // the feature decl_tag_kfuncs is not wanted
	KfuncsAbsent KfuncState = "absent" // there is no section .BTF_ids
	// .BTF_ids has no contents (SHT_NOBITS), as in detached debug files
	KfuncsStripped KfuncState = "stripped"
	KfuncsListed   KfuncState = "listed"
)

// File is one source file as an STT_FILE symbol names it: its base name, which several source files
// may share. Each occurrence is its own File. A source file of which nothing is linked has
// none: neither a member of an archive that nothing needed, nor an object whose debugging
// information --gc-sections has dropped with all else.
type File struct {
	Name  string   // "" for local symbols that no named STT_FILE precedes
	Funcs []string // names of local functions, suffixes like .isra.0 included; sorted
}

// Object is one variable: an STT_OBJECT symbol.
type Object struct {
	Name    string
	Section string // name of the output section
	Offset  uint64 // in the section, in bytes
	Size    uint64 // in bytes
	Local   bool   // STB_LOCAL; tells the same as File
	File    int    // index in Facts.Files of a local symbol's file; -1 if global
	// Definition tells which of several static variables this is that have one name, in files of
	// one name: object.VariableHash. It is zero for all other variables, and where the debug
	// information of the linked file doesn't have the variable. Package statics fills it in.
	Definition types.Hash
}

// RepeatedName is a base name that has several symbols.
type RepeatedName struct {
	Name      string
	Addresses int // how many different addresses its symbols have
}

// Kfunc is a function of a kfunc set in .BTF_ids.
type Kfunc struct {
	Name string
	// Flags are those of KF_* (include/linux/btf.h) that show in BTF (kfuncFlags), of all sets it is
	// in, OR-ed. pahole takes those of the symbol that stands last (btf_encoder__collect_kfuncs);
	// facts may not depend on the order of the symbols.
	Flags uint32
}
