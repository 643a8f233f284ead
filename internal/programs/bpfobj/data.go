package bpfobj

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// mapsSection is the section with the maps that a program defines by types in its BTF.
const mapsSection = ".maps"

// Address is a map, or an address in the map that libbpf creates for a data section.
type Address struct {
	Map string // the name of the map or section
	// Symbol is the name of an external symbol in .kconfig, or of a weak symbol in .ksyms.
	Symbol string
	Offset int64 // from the start of the section or symbol, in bytes; 0 for other maps
}

// ReadOnly reports whether the verifier knows the content at an address. It does if libbpf creates
// a frozen map for the address's section. The object file doesn't show this content: a loader may
// set the content before libbpf freezes the map.
func (a Address) ReadOnly() bool {
	return a.Map == ".rodata" || strings.HasPrefix(a.Map, ".rodata.") || a.Map == ".kconfig"
}

// IsWeak reports whether this is the address of a symbol that the kernel may lack. The verifier
// knows whether such an address is 0.
func (a Address) IsWeak() bool { return a.Map == ".ksyms" }

// StructOps is a variable whose value libbpf passes to the kernel as a struct_ops map.
type StructOps struct {
	Name, Section string
	Type          uint32 // its struct in the object's BTF
	Data          []byte // its value; pointers to functions are 0
	// Programs are the functions that the value points to, by the pointer's offset in the value, in
	// bytes.
	Programs map[uint32]*Function
}

// noTypes are the map types (enum bpf_map_type in include/uapi/linux/bpf.h) for which libbpf
// doesn't pass the BTF type of the values to the kernel (bpf_object__create_map).
var noTypes = map[uint32]bool{4: true, 7: true, 8: true, 12: true, 13: true, 14: true, 15: true,
	16: true, 17: true, 18: true, 22: true, 23: true, 25: true, 26: true, 33: true}

// readValues finds the types of the values in maps. For maps that a program defines, it reads the
// definition (parse_btf_map_def); for data sections, it reads the DATASEC.
func (r *reader) readValues() error {
	b := r.object.BTF
	for i := range b.Types {
		sec := &b.Types[i]
		if sec.Kind != btf.KindDatasec {
			continue
		}
		section := b.TypeName(sec)
		data := section == ".data" || section == ".bss" || strings.HasPrefix(section, ".data.") ||
			strings.HasPrefix(section, ".bss.")
		for _, v := range b.SecinfosOf(sec) {
			variable, _ := b.ByID(v.Type)
			switch {
			case variable == nil || variable.Kind != btf.KindVar:
			case section == mapsSection:
				if value := r.valueOf(variable.SizeOrType); value != 0 {
					r.object.Values[b.TypeName(variable)] = []uint32{value}
				}
			case data:
				r.object.Values[section] = append(r.object.Values[section], variable.SizeOrType)
			}
		}
	}
	return nil
}

// valueOf returns the type of a map's values, given the type of the map's definition. It returns 0
// if the values have no type.
func (r *reader) valueOf(definition uint32) uint32 {
	b := r.object.BTF
	_, t, of := b.Skip(definition)
	if t == nil || t.Kind != btf.KindStruct {
		return 0
	}
	value := uint32(0)
	for _, m := range of.MembersOf(t) {
		_, pointer, _ := b.Skip(m.Type)
		if pointer == nil || pointer.Kind != btf.KindPtr {
			continue
		}
		switch name, _ := b.Name(m.NameOff); name {
		case "type":
			_, array, in := b.Skip(pointer.SizeOrType)
			if array == nil || array.Kind != btf.KindArray || noTypes[in.ArrayOf(array).Nelems] {
				return 0
			}
		case "value":
			value = pointer.SizeOrType
		}
	}
	return value
}

// structOpsSections are the sections with struct_ops maps, as in bpf_object__elf_collect. libbpf
// creates the maps in a section whose name begins with "?" only if the loader requests them.
var structOpsSections = []string{".struct_ops", ".struct_ops.link", "?.struct_ops",
	"?.struct_ops.link"}

// readStructOps reads the struct_ops maps, as init_struct_ops_maps and
// bpf_object__collect_st_ops_relos do.
// Rule: struct_ops maps: reading. Source: libbpf.c bpf_object__collect_st_ops_relos.
func (r *reader) readStructOps() error {
	for i, s := range r.file.Sections {
		if !slices.Contains(structOpsSections, s.Name) || s.Type != elf.SHT_PROGBITS {
			continue
		}
		if err := r.structOpsOf(elf.SectionIndex(i), s); err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
	}
	return nil
}

func (r *reader) structOpsOf(index elf.SectionIndex, s *elf.Section) error {
	b := r.object.BTF
	data, err := s.Data()
	if err != nil {
		return err
	}
	types := map[string]uint32{}
	for i := range b.Types {
		if sec := &b.Types[i]; sec.Kind == btf.KindDatasec && b.TypeName(sec) == s.Name {
			for _, v := range b.SecinfosOf(sec) {
				if t, _ := b.ByID(v.Type); t != nil && t.Kind == btf.KindVar {
					types[b.TypeName(t)] = t.SizeOrType
				}
			}
		}
	}
	var list []*StructOps
	starts := map[*StructOps]uint64{}
	for _, symbol := range r.symbols {
		typ, ok := types[symbol.Name]
		if symbol.Section != index || !ok {
			continue
		}
		id, t, _ := b.Skip(typ)
		if t == nil || t.Kind != btf.KindStruct || b.TypeName(t) == "" {
			return fmt.Errorf("%s is not a struct with a name", symbol.Name)
		}
		if start := symbol.Value; start > uint64(len(data)) ||
			uint64(t.SizeOrType) > uint64(len(data))-start {
			return fmt.Errorf("%s ends after the section, which has %d bytes", symbol.Name, len(data))
		}
		o := &StructOps{Name: symbol.Name, Section: s.Name, Type: id, Programs: map[uint32]*Function{},
			Data: data[symbol.Value : symbol.Value+uint64(t.SizeOrType)]}
		list, starts[o] = append(list, o), symbol.Value
		delete(types, symbol.Name)
	}
	slices.SortFunc(list, func(a, b *StructOps) int { return strings.Compare(a.Name, b.Name) })
	r.object.StructOps = append(r.object.StructOps, list...)
	return r.structOpsPrograms(index, list, starts)
}

// structOpsPrograms finds the functions to which the maps in a section point.
func (r *reader) structOpsPrograms(index elf.SectionIndex, list []*StructOps,
	starts map[*StructOps]uint64) error {
	byStart := slices.SortedFunc(slices.Values(list), func(a, b *StructOps) int {
		return cmp.Compare(starts[a], starts[b])
	})
	for _, s := range r.file.Sections {
		if s.Type != elf.SHT_REL || elf.SectionIndex(s.Info) != index {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		for ; len(data) >= 16; data = data[16:] {
			offset, symbol := r.order.Uint64(data), r.order.Uint64(data[8:])>>32
			if symbol == 0 || symbol > uint64(len(r.symbols)) {
				return fmt.Errorf("the relocation at %#x has no symbol", offset)
			}
			to := r.symbols[symbol-1]
			f, first := r.functionAt(to.Section, to.Value)
			i, found := slices.BinarySearchFunc(byStart, offset, func(o *StructOps, at uint64) int {
				return cmp.Compare(starts[o], at)
			})
			if !found {
				i--
			}
			if i < 0 || offset-starts[byStart[i]] >= uint64(len(byStart[i].Data)) {
				return fmt.Errorf("the relocation at %#x is not inside a variable", offset)
			}
			if f == nil || first != 0 || !f.Program {
				return fmt.Errorf("%s: the pointer at offset %#x points to no program; libbpf refuses it",
					byStart[i].Name, offset-starts[byStart[i]])
			}
			byStart[i].Programs[uint32(offset-starts[byStart[i]])] = f
		}
	}
	return nil
}
