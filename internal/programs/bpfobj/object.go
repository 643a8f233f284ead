// Package bpfobj reads object files with BPF programs, from clang, gcc or "bpftool gen object". It
// finds the functions and their instructions, the CO-RE relocations, the symbols that the kernel
// has to provide, and which function calls which.
//
//	object.go   the ELF file and its BTF
//	code.go     functions and instructions
//	symbols.go  what instructions refer to: other functions, external symbols, and data
//	data.go     maps and variables, and struct_ops
//
// Like libbpf (bpf_object__add_programs, prog_is_subprog), this package distinguishes programs from
// the functions that programs call.
package bpfobj

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btfext"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Object is a file with BPF programs.
type Object struct {
	BTF *core.BTF
	// Functions are all functions, sorted by section and offset.
	Functions []*Function
	// Externs are the symbols that the kernel provides, by name.
	Externs map[string]Extern
	// Values has, by the name of a map, the types of the values in the map. A map that libbpf creates
	// for a data section has the section's name and contains the section's variables.
	Values map[string][]uint32
	// StructOps are the struct_ops maps, sorted by section and name.
	StructOps []*StructOps
}

// Function is a BPF function.
type Function struct {
	Name, Section string
	// Program says that the function can be loaded as a program: it isn't in .text.
	Program bool
	// Global says that the verifier checks the function separately from its callers.
	Global bool
	Insns  []Insn
	// Relocations are the CO-RE relocations. The key, as in the maps below, is the index of an
	// instruction in Insns.
	Relocations map[int]core.Relocation
	// Refused are the relocations that libbpf refuses for every kernel. It then doesn't load the
	// program or, if the function is in .text, any program of the object.
	Refused []core.Refusal
	// Calls are the functions that instructions call, or whose addresses they take.
	Calls map[int]*Function
	// Uses are the external symbols that instructions refer to.
	Uses map[int]string
	// Data are the maps and variables that instructions refer to.
	Data map[int]Address

	start uint64
	in    elf.SectionIndex
}

// Extern is a symbol that the kernel provides.
type Extern struct {
	Section string // .ksyms or .kconfig
	Weak    bool   // a program may be loaded without it
	Type    uint32 // the FUNC or VAR in the object's BTF
}

// ReadFile reads an object file. Errors name the file.
func ReadFile(path string) (*Object, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// pass is the advice for a file of another kind.
const pass = "name the object file with the programs (clang -target bpf -g -O2 -c)"

// Read reads the bytes of an object file.
func Read(data []byte) (*Object, error) {
	if len(data) == 0 {
		return nil, message.Empty("an object file with BPF programs")
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not an ELF file: %w; "+pass, err)
	}
	if f.Machine != elf.EM_BPF {
		return nil, fmt.Errorf("an ELF file for %v, expected one for EM_BPF; "+pass, f.Machine)
	}
	if f.Type != elf.ET_REL || f.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("an ELF file of type %v and class %v, expected a 64-bit object file; "+
			pass, f.Type, f.Class)
	}
	if f.Section(".BTF.needs") != nil {
		return nil, errors.New(`a file written by "btfcore needs", expected an object file with ` +
			"programs; " + pass)
	}
	r := &reader{file: f, order: f.ByteOrder, object: &Object{Externs: map[string]Extern{},
		Values: map[string][]uint32{}}}
	for _, step := range []func() error{r.readBTF, r.readSymbols, r.readFunctions, r.readRelocations,
		r.readReferences, r.readValues, r.readStructOps} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if len(r.object.Functions) == 0 {
		return nil, errors.New("no BPF programs: none of the code sections has a function; " + pass)
	}
	return r.object, nil
}

// reader holds the state of reading one file.
type reader struct {
	file    *elf.File
	order   binary.ByteOrder
	object  *Object
	symbols []elf.Symbol // without the null entry
	// sectionIndex has the index of the first section with each name.
	sectionIndex map[string]elf.SectionIndex
}

// section returns the content of a section, or nil if the file has no such section.
func (r *reader) section(name string) ([]byte, error) {
	s := r.file.Section(name)
	if s == nil {
		return nil, nil
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	return data, nil
}

func (r *reader) readBTF() error {
	data, err := r.section(btf.SectionTypes)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return errors.New("no BTF (.BTF): compile the programs with -g (gcc: -gbtf -mco-re)")
	}
	blob, err := btf.Parse(data, nil)
	if err == nil {
		r.object.BTF, err = core.NewBTF(blob, nil)
	}
	if err != nil {
		return fmt.Errorf("section .BTF: %w", err)
	}
	return nil
}

func (r *reader) readSymbols() (err error) {
	r.symbols, err = r.file.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return errors.New("no symbol table, so the programs have no names: don't strip the object file")
	}
	r.sectionIndex = map[string]elf.SectionIndex{}
	for i, s := range r.file.Sections {
		if _, twice := r.sectionIndex[s.Name]; !twice {
			r.sectionIndex[s.Name] = elf.SectionIndex(i)
		}
	}
	return err
}

// readRelocations assigns the relocations in .BTF.ext to their instructions.
func (r *reader) readRelocations() error {
	data, err := r.section(btfext.SectionName)
	if err != nil || data == nil {
		return err
	}
	sections, err := btfext.Parse(data, r.order)
	if err != nil {
		return fmt.Errorf("section %s: %w"+message.Rebuild, btfext.SectionName, err)
	}
	for _, s := range sections {
		name, err := r.object.BTF.Name(s.Name)
		if err != nil {
			return fmt.Errorf("section %s: the name of a section: %w", btfext.SectionName, err)
		}
		for i, x := range s.Relocations {
			if err := r.addRelocation(name, x); err != nil {
				return fmt.Errorf("section %s: relocation %d of %s: %w"+message.Rebuild, btfext.SectionName,
					i, name, err)
			}
		}
	}
	return nil
}

func (r *reader) addRelocation(section string, x btfext.Relocation) error {
	in, ok := r.sectionIndex[section]
	if !ok {
		return nil // the section's functions were discarded, for example by ld --gc-sections
	}
	if x.Insn%insnLen != 0 {
		return fmt.Errorf("no instruction begins at %#x", x.Insn)
	}
	f, at := r.functionAt(in, uint64(x.Insn))
	if f == nil {
		return nil // the code of an overridden weak function, which libbpf ignores
	}
	access, err := r.object.BTF.Name(x.Access)
	if err != nil {
		return err
	}
	if _, twice := f.Relocations[at]; twice {
		return fmt.Errorf("the instruction at %#x already has a relocation", x.Insn)
	}
	relocation := core.Relocation{Kind: core.Kind(x.Kind), Type: x.Type,
		Access: strings.Clone(access), Memory: f.Insns[at].accessed()}
	var refusal *core.Refusal
	if _, err := core.Parse(r.object.BTF, relocation); errors.As(err, &refusal) {
		f.Refused = append(f.Refused, *refusal)
		return nil
	}
	f.Relocations[at] = relocation
	return nil
}

// functionAt returns the function that has the instruction at an offset in a section, and the
// instruction's index in that function.
func (r *reader) functionAt(section elf.SectionIndex, offset uint64) (*Function, int) {
	list := r.object.Functions
	i, _ := slices.BinarySearchFunc(list, offset, func(f *Function, offset uint64) int {
		if f.in != section {
			return cmp.Compare(f.in, section)
		}
		if f.end() <= offset {
			return -1
		}
		return 1
	})
	if i == len(list) || list[i].in != section || offset < list[i].start {
		return nil, 0
	}
	at := offset - list[i].start
	if at%insnLen != 0 {
		return nil, 0
	}
	return list[i], int(at / insnLen)
}

func (f *Function) end() uint64 { return f.start + uint64(len(f.Insns))*insnLen }
