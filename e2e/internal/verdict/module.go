package verdict

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/kernel/embed"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// maxSize limits the size of modules, because an emulated processor loads them.
const maxSize = 1 << 20

// isSuitable reports whether a module is small, can be removed, and has types in BTF without a
// distilled base.
func isSuitable(t testing.TB, m Module) bool {
	t.Helper()
	f := must.Get(elf.Open(m.File))(t)
	defer f.Close()
	symbols := must.Get(f.Symbols())(t)
	sec := f.Section(btf.SectionTypes)
	if sec == nil || f.Section(btf.SectionBase) != nil {
		return false
	}
	data := must.Get(sec.Data())(t)
	if h, _, err := btf.ReadHeader(data); err != nil || h.TypeLen == 0 {
		return false
	}
	isExit := func(s elf.Symbol) bool { return symbols.Name(&s) == "cleanup_module" }
	return f.Size() <= maxSize && slices.ContainsFunc(symbols.List, isExit)
}

// module is a module that is being made wrong.
type module struct {
	t      testing.TB
	rnd    *rand.Rand
	kernel *btf.Blob
	others []Module

	whole, file *elf.File         // as it was shipped, and without its signature
	changed     map[string][]byte // the new content of sections; nil removes the section
	finish      func([]byte) []byte
}

func (c *Cases) open(t testing.TB, from Module, rnd *rand.Rand, others []Module) *module {
	t.Helper()
	f, err := elf.Open(from.File)
	must.OK(t, err)
	m := &module{t: t, rnd: rnd, kernel: c.types, others: others, whole: f,
		changed: map[string][]byte{}}
	m.file, err = embed.Unsigned(f, true)
	m.check(err)
	return m
}

func (m *module) close() { m.whole.Close() }

func (m *module) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("%s: %v", m.whole.Path, err)
	}
}

// section returns a copy of a section as it was shipped, or nil.
func (m *module) section(name string) []byte {
	if s := m.file.Section(name); s != nil {
		return bytes.Clone(s.Raw())
	}
	return nil
}

func (m *module) set(name string, data []byte) bool {
	m.changed[name] = data
	return true
}

// types returns the module's BTF, which may be changed.
func (m *module) types() *btf.Blob {
	m.t.Helper()
	b, err := btf.Parse(m.section(btf.SectionTypes), m.kernel)
	m.check(err)
	return b
}

func (m *module) setTypes(b *btf.Blob, opts btf.EncodeOptions) bool {
	m.t.Helper()
	data, err := btf.Encode(b, opts)
	m.check(err)
	return m.set(btf.SectionTypes, data)
}

// distilled returns the module's BTF on a distilled base.
func (m *module) distilled() (base, types []byte) {
	m.t.Helper()
	base, types, err := distill.Encode(m.section(btf.SectionTypes), m.kernel)
	m.check(err)
	return base, types
}

// write returns the changed module.
func (m *module) write() []byte {
	m.t.Helper()
	edit, err := elfwrite.NewEdit(m.file)
	m.check(err)
	for _, name := range slices.Sorted(maps.Keys(m.changed)) {
		if data := m.changed[name]; data == nil {
			m.check(edit.Remove(name))
		} else {
			m.check(edit.Set(elfwrite.Section{Name: name, Data: data}))
		}
	}
	var out bytes.Buffer
	m.check(edit.Write(&out))
	if m.finish != nil {
		return m.finish(out.Bytes())
	}
	return out.Bytes()
}

// sectionHeader returns the header of a section in a module, which may be changed.
func (m *module) sectionHeader(data []byte, name string) []byte {
	m.t.Helper()
	f, err := elf.Parse(m.whole.Path, data)
	m.check(err)
	const size = 64
	for i, s := range f.Sections {
		if s.Name == name {
			at := f.Order.Uint64(data[40:]) + uint64(i)*size // e_shoff
			return data[at : at+size]
		}
	}
	m.t.Fatalf("%s: no section %s", m.whole.Path, name)
	return nil
}
