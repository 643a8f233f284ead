package oracle

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

const (
	reasonOneSection = "pahole can't distinguish the sections of a relocatable file"
	reasonOpenArray  = "pahole drops an array that was first declared without a number of elements"
	reasonNoSymbol   = "pahole encodes a variable whose symbol has a different name, or none"
	reasonLost       = "pahole also encodes a weak definition that one of a different size overrides"
	reasonComputed   = "pahole encodes a variable that is not stored as declared: " +
		"clang has shrunk it or split it up"
)

// explainVariables sets the reasons for differences in variables, and in sections that differ only
// because of such variables.
func explainVariables(r *compare.Result, elfPath string) {
	wanted := map[string]bool{}
	for _, d := range r.Unexplained(content.Var) {
		wanted[d.Name] = true
	}
	for _, d := range r.Unexplained(content.Section) {
		ours, oracle := entriesOf(d.Ours), entriesOf(d.Oracle)
		for _, name := range slices.Concat(slices.Collect(maps.Values(without(ours, oracle))),
			slices.Collect(maps.Values(without(oracle, ours)))) {
			wanted[name] = true
		}
	}
	if len(wanted) == 0 {
		return
	}
	v := readVariables(elfPath, wanted)
	r.Explain(func(d *compare.Difference) string {
		switch d.Class {
		case content.Var:
			return v.explain(d.Name, len(d.Ours) > 0, len(d.Oracle) > 0)
		case content.Section:
			return v.explainSection(d)
		}
		return ""
	})
}

// variables has facts about some variables, from the DWARF and the symbols of an ELF file.
type variables struct {
	// relocatable reports whether the file is relocatable, so that all sections have address 0.
	relocatable bool
	// symbols has the names of all STT_OBJECT symbols.
	symbols map[string]bool
	// open has the names of arrays that are declared without a length, but defined with one.
	// The maps have the value true for each name.
	open map[string]bool
	// nameless has the names of variables with a definition at whose address no STT_OBJECT symbol
	// has the variable's name.
	nameless map[string]bool
	// computed has the names of variables whose location expression begins with an address, but has
	// further operations after the address.
	computed map[string]bool
	// lost has the names of variables with a definition whose size isn't that of the symbol.
	lost map[string]bool
}

// explain returns why a variable is in our BTF (ours) but not in pahole's (oracle), the other way
// round, or different in the two.
func (v *variables) explain(name string, ours, oracle bool) string {
	switch {
	case ours && !oracle && v.relocatable && v.symbols[name]:
		return reasonOneSection
	case oracle && v.computed[name]:
		return reasonComputed
	case oracle && v.lost[name]:
		return reasonLost
	case ours && !v.open[name], oracle && !v.nameless[name]:
		return ""
	case ours:
		return reasonOpenArray
	}
	return reasonNoSymbol
}

// explainSection returns the reason why a section differs. It returns "" unless there is a reason
// for each variable that is in only one of the two sections.
func (v *variables) explainSection(d *compare.Difference) string {
	ours, oracle := entriesOf(d.Ours), entriesOf(d.Oracle)
	reason := ""
	for _, side := range []struct {
		entries map[string]string
		ours    bool
	}{{without(ours, oracle), true}, {without(oracle, ours), false}} {
		for _, name := range side.entries {
			if reason = v.explain(name, side.ours, !side.ours); reason == "" {
				return ""
			}
		}
	}
	if reason != "" {
		reason = "see the variables in this section"
	}
	return reason
}

// entriesOf returns the variables in the texts of a section, such as "section .data size=8 { 0x0+4
// a; 0x4+4 b; }". A key is an entry, such as "0x0+4 a", and its value is the name, such as "a".
func entriesOf(texts []string) map[string]string {
	entries := map[string]string{}
	for _, text := range texts {
		_, text, _ = strings.Cut(text, "{")
		for entry := range strings.SplitSeq(strings.TrimSuffix(text, " }"), ";") {
			if place, name, ok := strings.Cut(strings.TrimSpace(entry), " "); ok {
				entries[place+" "+name] = name
			}
		}
	}
	return entries
}

func without(a, b map[string]string) map[string]string {
	left := maps.Clone(a)
	maps.DeleteFunc(left, func(k, _ string) bool { _, ok := b[k]; return ok })
	return left
}

func readVariables(path string, wanted map[string]bool) *variables {
	f := harness.Get(elf.Open(path))
	defer f.Close()
	v := &variables{relocatable: f.Type == elf.ET_REL, symbols: map[string]bool{},
		open: map[string]bool{}, nameless: map[string]bool{}, computed: map[string]bool{},
		lost: map[string]bool{}}
	names := map[uint64][]string{} // maps addresses to the names of symbols there
	sizes := map[string]uint64{}
	for _, s := range harness.Get(f.Symbols()) {
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT {
			v.symbols[s.Name] = true
			names[s.Value] = append(names[s.Value], s.Name)
			sizes[s.Name] = s.Size
		}
	}
	if v.relocatable {
		return v
	}
	data := harness.Get(f.DWARF())
	pool := addressPool{order: f.ByteOrder}
	if s := f.Section(".debug_addr"); s != nil {
		pool.data = harness.Get(s.Data())
	}
	topLevel(data, func(r *dwarf.Reader, die *dwarf.Entry) {
		switch die.Tag {
		case dwarf.TagCompileUnit, dwarf.TagPartialUnit:
			pool.base, _ = die.Val(dwarf.AttrAddrBase).(int64)
		case dwarf.TagVariable:
			v.add(data, r, die, wanted, names, sizes, pool)
		}
	})
	return v
}

// addressPool holds .debug_addr, and the offset there of a unit's addresses (DW_AT_addr_base).
type addressPool struct {
	data  []byte
	order binary.ByteOrder
	base  int64
}

// address returns the address with which a location expression begins, and the rest of the
// expression. An address has size bytes. If the expression does not begin with an address, ok is
// false.
func (p *addressPool) address(location []byte, size int) (address uint64, rest []byte, ok bool) {
	const opAddr, opAddrx = 0x03, 0xa1 // DW_OP_addr, DW_OP_addrx
	if len(location) == 0 {
		return 0, nil, false
	}
	b, rest := location[1:], []byte(nil)
	switch location[0] {
	case opAddr:
		if len(b) < size {
			return 0, nil, false
		}
		rest = b[size:]
	case opAddrx:
		index, n := binary.Uvarint(b)
		start := uint64(p.base) + index*uint64(size)
		if n <= 0 || start+uint64(size) > uint64(len(p.data)) {
			return 0, nil, false
		}
		b, rest = p.data[start:], b[n:]
	default:
		return 0, nil, false
	}
	if size == 8 {
		return p.order.Uint64(b), rest, true
	}
	return uint64(p.order.Uint32(b)), rest, true
}

// add adds the facts from a DW_TAG_variable whose location begins with an address.
func (v *variables) add(
	data *dwarf.Data, r *dwarf.Reader, die *dwarf.Entry, wanted map[string]bool,
	names map[uint64][]string, sizes map[string]uint64, pool addressPool,
) {
	location, _ := die.Val(dwarf.AttrLocation).([]byte)
	address, rest, ok := pool.address(location, r.AddressSize())
	name := nameOf(data, die)
	if !ok || !wanted[name] {
		return
	}
	if len(rest) > 0 {
		v.computed[name] = true
		return
	}
	if !slices.Contains(names[address], name) {
		v.nameless[name] = true
	} else if die.Val(dwarf.AttrType) != nil {
		if size := typeOf(data, die).Size(); size > 0 && uint64(size) != sizes[name] {
			v.lost[name] = true
		}
	}
	if declared, ok := die.Val(dwarf.AttrSpecification).(dwarf.Offset); ok {
		array, ok := plain(typeOf(data, at(data, declared))).(*dwarf.ArrayType)
		v.open[name] = v.open[name] || ok && array.Count <= 0
	}
}
