package btf

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// The errors that a program may want to tell apart, with errors.Is. The text of an error always
// says what is wrong with the input, and what to do.
var (
	// ErrNotELF is the error for a file that is not an ELF file.
	ErrNotELF = elf.ErrNotELF
	// ErrNoDebugInfo is the error for an ELF file with neither DWARF nor a compiler's BTF.
	ErrNoDebugInfo = convert.ErrNoDebugInfo
	// ErrWrongBase is the error for a base that belongs to another kernel or machine.
	ErrWrongBase = relocate.ErrWrongBase
)

// Options say how FromELF makes BTF. The zero value makes the BTF that a kernel's build makes.
type Options struct {
	// Bases is the raw BTF that the result is based on: that of vmlinux for a module, or a longer
	// chain, deepest first. If there is none, the result has all types.
	Bases [][]byte
	// Features are names as in pahole's --btf_features, such as "default" and "global_var". If there
	// are none, the default features are used.
	Features []string
	// LangExclude are languages of compilation units to leave out, such as "rust".
	LangExclude []string
	// Threads is the number of threads; 0 means one per processor.
	Threads int
	// Warn, if not nil, is called with each warning: one line without a newline at its end.
	Warn func(line string)
}

// Result is the BTF of a file.
type Result struct {
	BTF     []byte    // raw BTF; split BTF if there are bases
	Skipped []Skipped // sorted by name, then by reason
}

// Skipped is a function or variable that is not encoded.
type Skipped struct {
	Name   string
	Reason string // one line, such as "its prototypes differ"
}

// FromELF makes the BTF of a linked ELF file (vmlinux, a module, a program, a shared object) or of
// one object file. The file has DWARF, or BTF from a compiler (gcc -gbtf), in itself: no debug
// files and no .dwo files are read. It is read into memory as a whole. Errors begin with name.
func FromELF(name string, r io.ReaderAt, options Options) (*Result, error) {
	set, err := features.Parse(strings.Join(options.Features, ","))
	if err != nil {
		return nil, err
	}
	if len(options.Features) == 0 {
		set = features.Default()
	}
	excluded, err := language.Parse(strings.Join(options.LangExclude, ","))
	if err != nil {
		return nil, err
	}
	bases := &base.Files{}
	for i, data := range options.Bases {
		if bases, err = bases.With(data); err != nil {
			return nil, fmt.Errorf("base %d: %w", i, err)
		}
	}
	data, err := readAll(name, r)
	if err != nil {
		return nil, err
	}
	made, err := pipeline.Linked(name, pipeline.How{Files: memory(data), Bases: bases,
		Convert: convert.Options{Features: set, LangExclude: excluded, Jobs: options.Threads,
			Warn:       options.Warn,
			SplitDWARF: &splitdwarf.Finder{Files: &debugfile.Search{Named: []string{}}}}})
	if err != nil {
		return nil, err
	}
	if made.Doubt != "" && options.Warn != nil {
		options.Warn(name + ": " + made.Doubt)
	}
	result := &Result{BTF: made.BTF}
	for _, s := range made.Skipped {
		result.Skipped = append(result.Skipped, Skipped{Name: s.Name, Reason: s.Reason})
	}
	return result, nil
}

// memory is the content of the one file that can be opened.
type memory []byte

func (m memory) Open(name string) (*elf.File, error) { return elf.Parse(name, m) }

func readAll(name string, r io.ReaderAt) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(r, 0, math.MaxInt64))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}
