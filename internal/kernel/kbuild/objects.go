package kbuild

import (
	stdelf "debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// found is what an object contains.
type found struct {
	types   bool     // it has DWARF, or BTF that the compiler wrote
	sources []string // base names, of its symbols STT_FILE
}

// ErrLTO is the error for trees whose objects get machine code and DWARF only at the link. Then
// NoObjects and Whole read what is linked.
var ErrLTO = errors.New("has no machine code before the link, so no DWARF: read what is linked" +
	" (vmlinux = \"whole\", modules = \"whole\")")

// withTypes returns the objects that have types, and notes the others. owner is the file that was
// linked from them, for errors.
func (r *reader) withTypes(owner string, objects []string) (kept []string, err error) {
	seen := map[string]bool{}
	for _, o := range objects {
		if seen[o] {
			continue
		}
		seen[o] = true
		if strings.HasSuffix(o, ".a") {
			kept = append(kept, o)
			continue
		}
		f, err := r.look(owner, o)
		if err != nil {
			return nil, err
		}
		if f.types {
			kept = append(kept, o)
			r.noteDWO(o)
		}
	}
	return kept, nil
}

// noteDWO notes the .dwo file of an object, if there is one: assembler has none. A copy by objcopy
// has the original's: gdt_idt.pi.o has gdt_idt.dwo.
func (r *reader) noteDWO(object string) {
	if !r.split() {
		return
	}
	dir, name := path.Split(object)
	for name != "" {
		name = strings.TrimSuffix(name, path.Ext(name))
		if dwo := dir + name + ".dwo"; r.note(dwo) {
			r.dwos[object] = dwo
			return
		}
		if !strings.Contains(name, ".") {
			return
		}
	}
}

// look inspects an object, once.
func (r *reader) look(owner, object string) (found, error) {
	if f, ok := r.found[object]; ok {
		return f, nil
	}
	f, err := inspect(r.path(object))
	if errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("%s: %s was linked of it, and it is gone: build again, or read what is "+
			"linked (vmlinux = \"whole\", modules = \"whole\")", r.path(object), owner)
	}
	if err != nil {
		return f, err
	}
	r.found[object] = f
	if !f.types {
		r.skipped[object] = r.whyNoDWARF(object)
	}
	return f, nil
}

func inspect(object string) (f found, err error) {
	file, err := elf.Open(object)
	if errors.Is(err, elf.ErrBitcode) {
		return f, fmt.Errorf("%s (LLVM bitcode: CONFIG_LTO_CLANG) %w", object, ErrLTO)
	}
	if err != nil {
		return f, err
	}
	defer file.Close()
	for _, s := range file.Sections {
		switch {
		case (s.Name == ".debug_info" || s.Name == ".zdebug_info") && s.Size > 0:
			f.types = true
		case s.Name == ".BTF" && s.Size > 0:
			f.types = !ofBTF(object)
		case strings.HasPrefix(s.Name, ".gnu.lto_"):
			return f, fmt.Errorf("%s (compiled by GCC with -flto) %w", object, ErrLTO)
		}
	}
	f.sources, err = sources(file)
	return f, err
}

// ofBTF reports whether an object is the one with vmlinux's BTF that scripts/link-vmlinux.sh adds:
// .tmp_vmlinux1.btf.o, or before Linux 6.10 .btf.vmlinux.bin.o.
func ofBTF(object string) bool {
	name := path.Base(filepath.ToSlash(object))
	return strings.HasPrefix(name, ".btf.") || strings.HasSuffix(name, ".btf.o")
}

// sources returns the base names of a file's symbols STT_FILE.
func sources(f *elf.File) (names []string, err error) {
	symbols, err := f.Symbols()
	if err != nil || symbols == nil {
		return nil, err
	}
	for i := range symbols.List {
		if s := &symbols.List[i]; stdelf.ST_TYPE(s.Type) == stdelf.STT_FILE {
			// A copy: the file will be unmapped.
			if name := strings.Clone(symbols.Name(s)); name != "" {
				names = append(names, path.Base(name))
			}
		}
	}
	return names, nil
}

// whyNoDWARF explains with Kbuild's files why an object has no DWARF.
func (r *reader) whyNoDWARF(object string) string {
	b, _ := os.ReadFile(r.path(commandPath(object)))
	c := parseCommand(string(b))
	debug, known := hasDebug(c.words)
	switch {
	case path.Ext(c.source) == ".S":
		return "no DWARF: assembler, " + c.source
	case known && !debug:
		return "no DWARF: compiled with -g0, " + c.source
	case c.source != "":
		return "no DWARF: " + c.source
	}
	return "no DWARF"
}
