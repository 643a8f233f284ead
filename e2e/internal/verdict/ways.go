package verdict

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"strings"

	own "github.com/rules-btf/rules_btf/internal/format/elf"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
)

// ways are the ways in which a module may be wrong; a few are right. If a way doesn't suit the
// module, the function apply returns false.
var ways = []struct {
	name  string
	apply func(m *module) bool
}{
	{"intact", func(*module) bool { return true }},
	{"no BTF", func(m *module) bool { return m.set(btf.SectionTypes, nil) }},
	{"empty BTF", func(m *module) bool { return m.set(btf.SectionTypes, []byte{}) }},
	{"BTF of another module", otherModule},
	{"BTF for another vmlinux", otherVmlinux},
	{"BTF without a base", func(m *module) bool {
		base, _ := m.distilled()
		return m.set(btf.SectionTypes, base)
	}},
	{"compressed BTF", compressed},
	{"truncated BTF", func(m *module) bool {
		b := m.section(btf.SectionTypes)
		return m.set(btf.SectionTypes, b[:m.rnd.IntN(len(b))])
	}},
	{"BTF and more", func(m *module) bool {
		more := make([]byte, 1+m.rnd.IntN(8))
		more[0] = pick(m.rnd, byte(0), 1)
		return m.set(btf.SectionTypes, append(m.section(btf.SectionTypes), more...))
	}},
	{"big-endian BTF", bigEndian},
	{"header", header},
	{"longer header", longerHeader},
	{"strings before types", stringsFirst},
	{"unknown kind", unknownKind},
	{"number of elements", vlen},
	{"kind flag", kindFlag},
	{"name offset", nameOffset},
	{"name", nameByte},
	{"size", size},
	{"id", id},
	{"DATASEC or VAR", variable},
	{"newer type", newerType},
	{"random bytes", func(m *module) bool {
		return m.set(btf.SectionTypes, damaged(m.rnd, m.section(btf.SectionTypes)))
	}},
	{"distilled base", func(m *module) bool { return m.setDistilled(m.distilled()) }},
	{"other distilled base", otherDistilled},
	{"damaged distilled base", func(m *module) bool {
		base, types := m.distilled()
		return m.setDistilled(damaged(m.rnd, base), types)
	}},
	{"damaged BTF on a distilled base", func(m *module) bool {
		base, types := m.distilled()
		return m.setDistilled(base, damaged(m.rnd, types)) && !m.pastEnd()
	}},
	{"empty distilled base", func(m *module) bool { return m.set(btf.SectionBase, []byte{}) }},
	{"lost distilled base", func(m *module) bool {
		_, types := m.distilled()
		return m.set(btf.SectionTypes, types)
	}},
	{"BTF ids", ids},
	{"vermagic", vermagic},
	{"machine", func(m *module) bool {
		m.finish = func(data []byte) []byte {
			m.file.Order.PutUint16(data[18:], pick(m.rnd, uint16(elf.EM_386), uint16(elf.EM_RISCV)))
			return data
		}
		return true
	}},
	{"struct module", func(m *module) bool {
		more := pick(m.rnd, 8, 64, ^uint64(63)) // or 64 fewer
		m.finish = func(data []byte) []byte {
			sizeField := m.sectionHeader(data, ".gnu.linkonce.this_module")[32:]
			m.file.Order.PutUint64(sizeField, m.file.Order.Uint64(sizeField)+more)
			return data
		}
		return true
	}},
	{"truncated file", func(m *module) bool {
		m.finish = func(data []byte) []byte { return data[:m.rnd.IntN(len(data))] }
		return true
	}},
}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

// damaged replaces one to three bytes.
func damaged(rnd *rand.Rand, data []byte) []byte {
	for range 1 + rnd.IntN(3) {
		data[rnd.IntN(len(data))] ^= byte(1 + rnd.IntN(255))
	}
	return data
}

func otherModule(m *module) bool {
	from := m.others[m.rnd.IntN(len(m.others))]
	f, err := own.Open(from.File)
	m.check(err)
	defer f.Close()
	data := bytes.Clone(f.Section(btf.SectionTypes).Raw())
	return from.File != m.whole.Path && m.set(btf.SectionTypes, data)
}

func compressed(m *module) bool {
	data := m.section(btf.SectionTypes)
	var out bytes.Buffer
	header := elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: uint64(len(data)), Addralign: 1}
	m.check(binary.Write(&out, m.file.Order, header))
	z := zlib.NewWriter(&out)
	_, err := z.Write(data)
	m.check(err)
	m.check(z.Close())
	m.finish = func(data []byte) []byte {
		flags := m.sectionHeader(data, btf.SectionTypes)[8:]
		m.file.Order.PutUint64(flags, m.file.Order.Uint64(flags)|uint64(elf.SHF_COMPRESSED))
		return data
	}
	return m.set(btf.SectionTypes, out.Bytes())
}

func (m *module) setDistilled(base, types []byte) bool {
	return m.set(btf.SectionBase, base) && m.set(btf.SectionTypes, types)
}

// pastEnd reports whether the changed BTF has ids or names past the end. A kernel that relocates
// such BTF reads outside of its tables, so anything may happen.
func (m *module) pastEnd() bool {
	base, err := btf.Parse(m.changed[btf.SectionBase], nil)
	m.check(err)
	b, err := btf.Parse(m.changed[btf.SectionTypes], base)
	if err != nil {
		return false // the kernel doesn't relocate it
	}
	return b.PastEnd()
}

// otherDistilled makes a distilled base of a kernel in which a type is different.
func otherDistilled(m *module) bool {
	data, types := m.distilled()
	b, err := btf.Parse(data, nil)
	m.check(err)
	t := &b.Types[m.rnd.IntN(len(b.Types))]
	switch m.rnd.IntN(3) {
	case 0:
		if !t.Kind.IsComposite() {
			return false
		}
		t.SizeOrType += pick(m.rnd, 8, ^uint32(7))
	case 1:
		t.NameOff = b.Types[m.rnd.IntN(len(b.Types))].NameOff
	case 2:
		if !t.Kind.IsComposite() || t.Vlen > 0 {
			return false
		}
		t.Kind = btf.KindStruct + btf.KindUnion - t.Kind
	}
	data, err = btf.Encode(b, btf.EncodeOptions{})
	m.check(err)
	return m.setDistilled(data, types)
}

// ids replaces an id in .BTF_ids. Other words there are counts and flags, which are small.
func ids(m *module) bool {
	data := m.section(btfids.SectionName)
	if data == nil {
		return false
	}
	const smallest = 1000
	var at []int
	for i := 0; i+4 <= len(data); i += 4 {
		if m.file.Order.Uint32(data[i:]) >= smallest {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return false
	}
	b := m.types()
	m.file.Order.PutUint32(data[at[m.rnd.IntN(len(at))]:], pick(m.rnd, 0, m.rnd.Uint32N(b.EndID()),
		b.StartID+m.rnd.Uint32N(uint32(len(b.Types))), b.EndID()+m.rnd.Uint32N(9)))
	return m.set(btfids.SectionName, data)
}

func vermagic(m *module) bool {
	const field = "vermagic="
	info := string(m.section(".modinfo"))
	_, rest, _ := strings.Cut(info, field)
	magic, _, _ := strings.Cut(rest, "\x00")
	release, flags, _ := strings.Cut(magic, " ")
	now := pick(m.rnd, field+"1"+release+" "+flags, field+release+"-other "+flags,
		field+release+" preempt_rt "+flags, field+release, "nomagic="+magic)
	return m.set(".modinfo", []byte(strings.Replace(info, field+magic, now, 1)))
}
