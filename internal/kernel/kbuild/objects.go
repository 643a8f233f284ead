package kbuild

import (
	stdelf "debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// found says what an object file contains.
type found struct {
	types   bool     // whether it has DWARF, or BTF from the compiler
	dwos    []string // the paths of its .dwo files, as the compiler wrote them
	sources []string // base names in its STT_FILE symbols
}

// ErrLTO is the error for trees in which the linker generates machine code and DWARF. Use the
// options NoObjects and Whole to read the linked files instead.
var ErrLTO = errors.New("so it has no machine code and no DWARF before the link: read the linked " +
	"files (vmlinux = \"whole\", modules = \"whole\")")

// withTypes returns the objects that have types, and records the others as skipped. Errors mention
// owner, the file that was linked from the objects.
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
			r.noteDWOs(o, f.dwos)
		}
	}
	return kept, nil
}

// noteDWOs records the .dwo files of an object that exist. If objcopy made the object, they have
// other names than the object: gdt_idt.pi.o has gdt_idt.dwo. And the .dwo files of an object that
// was linked with ld -r may be in several directories: kvm_nvhe.o has ../vgic-v3-sr.nvhe.dwo.
func (r *reader) noteDWOs(object string, names []string) {
	for _, name := range names {
		dwo, err := r.rel(name)
		if err != nil || !r.note(dwo) { // Kbuild may have compiled in another directory
			dwo = path.Join(path.Dir(object), path.Base(name))
		}
		if r.note(dwo) {
			r.dwos[object] = append(r.dwos[object], dwo)
		}
	}
}

// dwos returns the paths of an object's .dwo files, as the compiler wrote them.
func dwos(file *elf.File) (names []string, err error) {
	d, err := dwarf.New(file)
	if err != nil {
		return nil, err
	}
	var unit dwarf.Reader
	for i := range d.Units {
		if d.Units[i].Kind != dwarf.UnitCompile {
			continue
		}
		if err := unit.Load(d, &d.Units[i]); err != nil {
			return nil, err
		}
		if s, err := unit.Skeleton(); err != nil {
			return nil, err
		} else if s != nil && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// look inspects an object, unless it has already been inspected.
func (r *reader) look(owner, object string) (found, error) {
	if f, ok := r.found[object]; ok {
		return f, nil
	}
	f, err := r.inspect(r.path(object))
	if errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("%s: missing, but %s was linked from it: build again, or read the "+
			"linked files (vmlinux = \"whole\", modules = \"whole\")", r.path(object), owner)
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

func (r *reader) inspect(object string) (f found, err error) {
	file, err := elf.Open(object)
	if errors.Is(err, elf.ErrBitcode) {
		return f, fmt.Errorf("%s: it is LLVM bitcode (CONFIG_LTO_CLANG), %w", object, ErrLTO)
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
			return f, fmt.Errorf("%s: it was compiled by GCC with -flto, %w", object, ErrLTO)
		}
	}
	if f.types && r.split() {
		if f.dwos, err = dwos(file); err != nil {
			return f, err
		}
	}
	f.sources, err = sources(file)
	return f, err
}

// ofBTF reports whether an object is the one with the BTF of vmlinux, which scripts/link-vmlinux.sh
// adds: .tmp_vmlinux1.btf.o, or .btf.vmlinux.bin.o before Linux 6.10.
func ofBTF(object string) bool {
	name := path.Base(filepath.ToSlash(object))
	return strings.HasPrefix(name, ".btf.") || strings.HasSuffix(name, ".btf.o")
}

// sources returns the base names of the source files that a file's STT_FILE symbols name.
func sources(f *elf.File) (names []string, err error) {
	symbols, err := f.Symbols()
	if err != nil || symbols == nil {
		return nil, err
	}
	for i := range symbols.List {
		if s := &symbols.List[i]; stdelf.ST_TYPE(s.Type) == stdelf.STT_FILE {
			// Clone the name, because the file will be unmapped.
			if name := strings.Clone(symbols.Name(s)); name != "" {
				names = append(names, path.Base(name))
			}
		}
	}
	return names, nil
}

// whyNoDWARF explains why an object has no DWARF, from the command that Kbuild saved.
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
