// Package facts is what only a linked ELF file knows about the functions and
// variables of its objects: which of them the linker kept, under which symbol
// names, how often, in which source files; where variables lie in their
// sections; which functions are kfuncs.
//
// Facts hold no address of a function and no byte of code, and nothing of them
// depends on the order in which objects were linked. So a change that only
// moves code leaves them as they were. Their text form (Write, Parse) is
// canonical: equal facts are equal bytes. docs/facts.md describes it.
package facts

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/types"
)

// Format is the version of the text form that Write writes and Parse reads.
const Format = 2

// Facts are the facts about one linked file: an executable, a shared object, or a kernel module
// (ET_REL). The slices are sorted as their comments say where they come from Parse; Extract leaves
// the functions, and files of one name, as they come.
type Facts struct {
	Machine   elf.Machine
	AddrSize  int  // bytes of an address: 4 or 8
	BigEndian bool // byte order of the file

	// HasFiles tells whether the symbol table names the sources of local
	// symbols (STT_FILE, and no link-time optimization). If not, all local
	// symbols are in one File without a name.
	HasFiles bool
	// Variables tells which sections' variables Objects lists.
	Variables Variables
	// KfuncState tells what Kfuncs is worth.
	KfuncState KfuncState

	Kfuncs   []Kfunc  // by name
	Repeated []Base   // base names with more than one address; by name
	Globals  []string // functions with global or weak symbols; sorted
	Files    []File   // sources with local symbols; by name, functions, objects
	Objects  []Object // variables; by section, offset, name, size, locality, file
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

// File is one source file as an STT_FILE symbol names it: its base name, which
// several source files may share. Each occurrence with functions or variables
// is a File of its own.
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
	Local   bool   // STB_LOCAL
	File    int    // index in Facts.Files of a local symbol's file; -1 if global
	// Definition tells which of several static variables this is that have one name, in files of
	// one name: object.VariableHash. It is zero for all other variables, and where the debug
	// information of the linked file doesn't have the variable. Package statics fills it in.
	Definition types.Hash
}

// Base is a base name that has several symbols.
type Base struct {
	Name      string
	Addresses int // how many different addresses its symbols have
}

// Kfunc is a function of a kfunc set in .BTF_ids.
type Kfunc struct {
	Name  string
	Flags uint32 // KF_* of include/linux/btf.h, of all the sets it is in
}

// BaseName cuts a function symbol's name at its first dot: "f.isra.0" is f.
// ok is false for symbols that stand for no function of their own: the cold
// and split-off parts of others (.cold, .part), and names that begin with a dot.
func BaseName(symbol string) (base string, ok bool) {
	dot := strings.IndexByte(symbol, '.')
	switch {
	case dot < 0:
		return symbol, symbol != ""
	case dot == 0, strings.Contains(symbol[dot:], ".cold"), strings.Contains(symbol[dot:], ".part"):
		return "", false
	}
	return symbol[:dot], true
}

// renamed are what link-time optimization puts between a static variable's name and a number:
// clang's ThinLTO, and gcc.
var renamed = []string{".llvm.", ".lto_priv."}

// SourceName is the name that a variable's symbol has in the source. Where link-time optimization
// has put all sources together, LLVM tells static variables of one name apart by a number alone.
// Elsewhere that is a variable of a function.
func (f *Facts) SourceName(symbol string) string {
	for _, s := range renamed {
		if i := strings.Index(symbol, s); i > 0 {
			return symbol[:i]
		}
	}
	if i := strings.LastIndexByte(symbol, '.'); i > 0 && !f.HasFiles &&
		strings.Trim(symbol[i+1:], "0123456789") == "" {
		return symbol[:i]
	}
	return symbol
}

// generatedPrefixes begin the names of variables that compilers and macros make.
var generatedPrefixes = []string{
	"__UNIQUE_ID", "__tpstrtab_", "__exitcall_", "__gendwarfksyms_ptr_",
	"__func_stack_frame_non_standard_",
}

// Generated tells whether a variable is one that compilers and macros make. pahole drops these, and
// so does the link.
func Generated(variable string) bool {
	return slices.ContainsFunc(generatedPrefixes,
		func(p string) bool { return strings.HasPrefix(variable, p) })
}

// sortFew sorts all but the functions, of which there are many: files by name alone.
func (f *Facts) sortFew() {
	slices.SortFunc(f.Kfuncs, func(a, b Kfunc) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(f.Repeated, func(a, b Base) int { return strings.Compare(a.Name, b.Name) })
	f.sortFiles(func(a, b int) int { return strings.Compare(f.Files[a].Name, f.Files[b].Name) })
	slices.SortFunc(f.Objects, compareObjects)
}

// sort sorts everything as the types' comments say.
func (f *Facts) sort() {
	f.sortFew()
	sortNames(f.Globals)
	for i := range f.Files {
		slices.Sort(f.Files[i].Funcs)
	}
	objects := make([][]Object, len(f.Files))
	for _, o := range f.Objects {
		if o.File >= 0 {
			i := o.File
			o.File = 0 // only what the object is counts
			objects[i] = append(objects[i], o)
		}
	}
	f.sortFiles(func(a, b int) int {
		return cmp.Or(compareFiles(&f.Files[a], &f.Files[b]),
			slices.CompareFunc(objects[a], objects[b], compareObjects))
	})
	slices.SortFunc(f.Objects, compareObjects)
}

// sortFiles sorts Files, of which compare gets indexes, and keeps Objects with theirs.
func (f *Facts) sortFiles(compare func(a, b int) int) {
	order := make([]int, len(f.Files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	var files []File
	place := make([]int, len(order))
	for i, old := range order {
		files = append(files, f.Files[old])
		place[old] = i
	}
	f.Files = files
	for i := range f.Objects {
		if o := &f.Objects[i]; o.File >= 0 {
			o.File = place[o.File]
		}
	}
}

// sortNames is slices.Sort for many names, of which it compares the first
// bytes as numbers.
func sortNames(names []string) {
	type entry struct {
		key  uint64
		name string
	}
	list := make([]entry, len(names))
	for i, s := range names {
		list[i] = entry{sortKey(s), s}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(a.name, b.name)
	})
	for i := range list {
		names[i] = list[i].name
	}
}

func compareFiles(a, b *File) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.Funcs, b.Funcs))
}

func compareObjects(a, b Object) int {
	return cmp.Or(
		strings.Compare(a.Section, b.Section),
		cmp.Compare(a.Offset, b.Offset),
		strings.Compare(a.Name, b.Name),
		cmp.Compare(a.Size, b.Size),
		compareBools(a.Local, b.Local),
		cmp.Compare(a.File, b.File),
		a.Definition.Cmp(b.Definition))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
