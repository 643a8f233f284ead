package loader

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
)

// structSection is the section with the module's struct module.
const structSection = ".gnu.linkonce.this_module"

// Module is what the verdict on a module depends on in the module.
type Module struct {
	Label string // the module's file, for messages
	Path  string // the path in a directory or package

	err       error // why the file can't be read, or nil
	name      string
	machine   machine
	vermagic  string    // "" if there is none
	crcs      bool      // the module has the versions of the symbols that it uses
	ownSize   uint64    // of structSection
	types     []byte    // nil if there is no BTF
	base      []byte    // nil if there is no distilled base
	inline    []byte    // the section .BTF.inline; nil if there is none
	packed    bool      // the section .BTF is compressed
	functions string    // the names of the function symbols, each between two NULs
	ids       *elf.File // the file, if it has .BTF_ids
}

// Damaged returns a module that can't be read, because of err.
func Damaged(label, path string, err error) *Module {
	return &Module{Label: label, Path: path, err: err}
}

// NewModule reads a module, and keeps no reference to its content unless the module has .BTF_ids.
// f must not be closed.
func NewModule(label, path string, f *elf.File) *Module {
	m := &Module{Label: label, Path: path, machine: machineOf(f)}
	s := f.Section(structSection)
	if s == nil {
		m.err = fmt.Errorf("it is not a module: it has no section %s", structSection)
		return m
	}
	if m.err = btf.Detached(f, structSection); m.err != nil {
		return m
	}
	m.ownSize = s.Size
	m.crcs = f.Section("__versions") != nil || f.Section("__version_ext_crcs") != nil
	m.vermagic, m.name = f.ModuleInfo("vermagic"), f.ModuleInfo("name")
	if s := f.Section(btf.SectionTypes); s != nil && s.Size > 0 && s.Raw() != nil {
		m.packed = !s.Plain()
	}
	for _, s := range []struct {
		name string
		to   *[]byte
	}{{btf.SectionTypes, &m.types}, {btf.SectionBase, &m.base}, {btf.SectionInline, &m.inline}} {
		var data []byte
		if data, m.err = btf.Section(f, s.name); m.err != nil {
			return m
		}
		*s.to = bytes.Clone(data)
	}
	if m.functions, m.err = functions(f); m.err != nil {
		return m
	}
	if s := f.Section(btfids.SectionName); s != nil && s.Size > 0 {
		m.ids = f
	}
	return m
}

// Release returns the kernel release for which the module was built, or "" if that is unknown.
func (m *Module) Release() string {
	release, _, _ := strings.Cut(m.vermagic, " ")
	return release
}

// functions returns the names of the function symbols, with a NUL before and after each name.
func functions(f *elf.File) (string, error) {
	list, err := f.Functions()
	if err != nil {
		return "", err
	}
	var names strings.Builder
	names.WriteByte(0)
	for _, x := range list.List {
		names.WriteString(list.Symbols.Name(&list.Symbols.List[x.Symbol]))
		names.WriteByte(0)
	}
	return names.String(), nil
}

// Foreign checks whether b is the BTF of another module than f: it looks up functions of b among
// the symbols of f. If it finds none, it returns how many it looked up. It returns 0 if it finds
// one, or if f has no function symbols: then nothing shows that b is another module's.
func Foreign(f *elf.File, b *btf.Blob) (int, error) {
	names, err := functions(f)
	if names == "\x00" {
		return 0, err
	}
	return (&Module{functions: names}).foreign(b), err
}
