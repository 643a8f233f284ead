package convert

import (
	stdelf "debug/elf"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// checkEmpty tells why f has no DWARF, nil if it need not have any: an assembler's object, or one without code and
// data, such as what modpost makes of a kernel module.
func checkEmpty(f *elf.File) error {
	for _, s := range f.Sections {
		switch {
		case strings.HasPrefix(s.Name, ".gnu.lto_"), strings.HasPrefix(s.Name, ".gnu.debuglto_"):
			return fmt.Errorf("%s: an LTO object (gcc bitcode) has no DWARF of its own; compile without -flto or with -ffat-lto-objects, or convert the linked file", f.Path)
		case s.Name == ".llvm.lto" || s.Name == ".llvmbc":
			return fmt.Errorf("%s: an LTO object (LLVM bitcode) has no DWARF of its own; compile without -flto, or convert the linked file", f.Path)
		case s.Name == ".debug_info.dwo":
			return fmt.Errorf("%s: split DWARF: this is a .dwo file; compile without -gsplit-dwarf", f.Path)
		}
	}
	if f.Relocatable() && !compiled(f) {
		return nil
	}
	return fmt.Errorf("%s: no DWARF (.debug_info); compile with -g and don't strip", f.Path)
}

// compiled tells whether f has code or data that a compiler made: compilers leave their name in .comment, assemblers
// don't.
func compiled(f *elf.File) bool {
	if comment := f.Section(".comment"); comment == nil || comment.Size == 0 {
		return false
	}
	module := f.Section(".gnu.linkonce.this_module") != nil
	for _, s := range f.Sections {
		switch {
		case s.Size == 0 || !s.Alloc() || s.Type == stdelf.SHT_NOTE || s.Name == ".eh_frame":
		case s.Flags&stdelf.SHF_EXECINSTR != 0:
			return true
		case !module: // modpost's data aside
			return true
		}
	}
	return false
}
