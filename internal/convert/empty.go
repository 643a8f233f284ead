package convert

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// CheckEmpty returns an error that says why f has no DWARF. It returns nil if f comes from an
// assembler, has neither code nor data, or is the part of a kernel module that modpost generates.
func CheckEmpty(f *elf.File) error {
	if err := emptyError(f); err != nil {
		return message.Marked(err, ErrNoDebugInfo)
	}
	return nil
}

// ErrNoDebugInfo is what errors.Is finds in the errors of CheckEmpty.
var ErrNoDebugInfo = errors.New("no debugging information")

func emptyError(f *elf.File) error {
	for _, s := range f.Sections {
		switch {
		case strings.HasPrefix(s.Name, ".gnu.lto_"), strings.HasPrefix(s.Name, ".gnu.debuglto_"):
			return fmt.Errorf("%s: an LTO object (gcc bitcode) has no DWARF of its own; compile without "+
				"-flto or with -ffat-lto-objects, or convert the linked file", f.Path)
		case s.Name == ".llvm.lto" || s.Name == ".llvmbc":
			return fmt.Errorf("%s: an LTO object (LLVM bitcode) has no DWARF of its own; compile "+
				"without -flto, or convert the linked file", f.Path)
		case s.Name == ".debug_cu_index":
			return fmt.Errorf("%s: split DWARF: this is a package of .dwo files; pass the linked file, "+
				"and this file as --dwp", f.Path)
		case s.Name == ".debug_info.dwo" && f.Section(".debug_cu_index") == nil:
			return fmt.Errorf("%s: split DWARF: this is a .dwo file, which has no addresses; "+
				"pass the object file from the same compilation", f.Path)
		}
	}
	if f.Relocatable() {
		if made, err := compiled(f); !made || err != nil {
			return err
		}
	}
	if link := f.Section(".gnu_debuglink"); link != nil {
		if data, err := link.Data(); err == nil {
			name, _, _ := bytes.Cut(data, []byte{0})
			return fmt.Errorf("%s: no DWARF (.debug_info): the DWARF was moved to %.200q "+
				"(.gnu_debuglink); pass that file to btfgen elf as --dwarf, or its directory as "+
				"--debug-dir", f.Path, name)
		}
	}
	return fmt.Errorf("%s: no DWARF (.debug_info) and no BTF (.BTF); compile with -g or -gbtf "+
		"and don't strip; if the file is stripped, pass its separate debug file to btfgen elf as "+
		"--dwarf", f.Path)
}

// compiled reports whether f has code or data from a compiler. Compilers write their name to
// .comment and give their symbols a type. Assemblers write no name, and symbols from inline
// assembly may have no type. For a C file that contains only inline assembly, such as a kernel's
// .vmlinux.export.c, clang writes no DWARF.
func compiled(f *elf.File) (bool, error) {
	if comment := f.Section(".comment"); comment == nil || comment.Size == 0 {
		return false, nil
	}
	module := f.IsModule()
	content := slices.ContainsFunc(f.Sections, func(s *elf.Section) bool {
		switch {
		case s.Size == 0 || !s.Alloc() || s.Type == stdelf.SHT_NOTE || s.Name == ".eh_frame":
			return false
		case s.Flags&stdelf.SHF_EXECINSTR != 0:
			return true
		}
		return !module // modpost's part of a module has only data
	})
	if !content {
		return false, nil
	}
	symbols, err := f.Symbols()
	if err != nil || len(symbols.List) == 0 {
		return true, err
	}
	return slices.ContainsFunc(symbols.List, func(s elf.Symbol) bool {
		switch stdelf.SymType(s.Type) {
		case stdelf.STT_NOTYPE, stdelf.STT_SECTION, stdelf.STT_FILE:
			return false
		}
		return true
	}), nil
}
