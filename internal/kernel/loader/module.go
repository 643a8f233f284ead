package loader

import (
	"bytes"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
)

const (
	structSection = ".gnu.linkonce.this_module" // has the module's struct module
	infoSection   = ".modinfo"
)

// Module is what decides about a module.
type Module struct {
	Label string // the module's file, for messages
	Path  string // the path in a directory or package

	err       error // why the file can't be read, or nil
	machine   machine
	vermagic  string    // "" if there is none
	crcs      bool      // the module has the versions of the symbols that it uses
	ownSize   uint64    // of structSection
	types     []byte    // nil if there is no BTF
	base      []byte    // nil if there is no distilled base
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
	if s := f.Section(structSection); s != nil {
		m.ownSize = s.Size
	}
	m.crcs = f.Section("__versions") != nil || f.Section("__version_ext_crcs") != nil
	m.vermagic = info(f, "vermagic")
	if s := f.Section(btf.SectionTypes); s != nil && s.Size > 0 && s.Raw() != nil {
		m.packed = !s.Plain()
	}
	var types, base []byte
	if types, m.err = btf.Section(f, btf.SectionTypes); m.err != nil {
		return m
	}
	if base, m.err = btf.Section(f, btf.SectionBase); m.err != nil {
		return m
	}
	m.types, m.base = bytes.Clone(types), bytes.Clone(base)
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

// info returns a field of the section .modinfo, or "".
func info(f *elf.File, name string) string {
	s := f.Section(infoSection)
	if s == nil {
		return ""
	}
	for field := range bytes.SplitSeq(s.Raw(), []byte{0}) {
		if value, ok := bytes.CutPrefix(field, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
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
