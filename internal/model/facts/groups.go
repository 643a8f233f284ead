package facts

import (
	stdelf "debug/elf"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// openGroups makes a File for every STT_FILE symbol, and before these one for the local symbols
// that precede all of them: local symbols with FileIndex i belong to Files[i+1]. Where the symbols
// don't tell the sources, all belong to the first.
func (e *extractor) openGroups() {
	e.facts.Files = []File{{}}
	if e.facts.HasFiles = e.namesSources(); !e.facts.HasFiles {
		return
	}
	for _, s := range e.sources {
		e.facts.Files = append(e.facts.Files, File{Name: e.names.keep(baseOfPath(e.symbols.Name(s)))})
	}
}

// namesSources reports whether the STT_FILE symbols name the sources of local symbols. Link-time
// optimization makes its own objects, in which functions of several sources stand together,
// global ones have become local, and others are gone. LLVM's objects are called ld-temp.o; gcc's
// have no name, and the symbols of what was static in one source have the suffix .lto_priv.N.
func (e *extractor) namesSources() bool {
	named := false
	for _, s := range e.sources {
		switch e.symbols.Name(s) {
		case "ld-temp.o":
			return false
		case "":
		default:
			named = true
		}
	}
	return named && !e.symbols.Contain(".lto_priv.")
}

// group is the index of a local symbol's File. A hidden symbol was global until the link; linkers
// put it after the local ones of its input file, which may be of many sources (vmlinux.o), so the
// STT_FILE before it is not its source.
func (e *extractor) group(s *elf.Symbol) int {
	hidden := stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_HIDDEN ||
		stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_INTERNAL
	if !e.facts.HasFiles || hidden {
		return 0
	}
	return int(s.FileIndex) + 1
}

// baseOfPath is a source file's name without directories, which older compilers write before it.
func baseOfPath(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
