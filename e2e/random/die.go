package random

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

type die struct {
	*dwarf.Entry
	kids []*die
}

// debugInfo is the DWARF of a linked file without type units.
type debugInfo struct {
	units []*die
	at    map[dwarf.Offset]*die
	pools map[*die][]byte // maps a DIE to .debug_addr, from its unit's DW_AT_addr_base on
	data  *dwarf.Data

	defined map[string]bool // the tags of structs and unions that a unit defines
}

func readDWARF(path string) (*debugInfo, *elf.File, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		return nil, nil, err
	}
	var addresses []byte
	if s := f.Section(".debug_addr"); s != nil {
		if addresses, err = s.Data(); err != nil {
			return nil, nil, err
		}
	}
	info := &debugInfo{data: data, at: map[dwarf.Offset]*die{}, pools: map[*die][]byte{},
		defined: map[string]bool{}}
	r := data.Reader()
	var open []*die
	for {
		e, err := r.Next()
		if err != nil {
			return nil, nil, err
		}
		if e == nil {
			return info, f, nil
		}
		if e.Tag == 0 {
			open = open[:len(open)-1]
			continue
		}
		d := &die{Entry: e}
		info.at[e.Offset] = d
		if isRecord(d) && !d.declaration() {
			info.defined[d.name()] = true
		}
		if len(open) == 0 {
			info.units = append(info.units, d)
			if base, ok := e.Val(dwarf.AttrAddrBase).(int64); ok && base <= int64(len(addresses)) {
				info.pools[d] = addresses[base:]
			}
		} else {
			parent := open[len(open)-1]
			parent.kids = append(parent.kids, d)
			info.pools[d] = info.pools[parent]
		}
		if e.Children {
			open = append(open, d)
		}
	}
}

func (d *die) walk(visit func(*die)) {
	visit(d)
	for _, k := range d.kids {
		k.walk(visit)
	}
}

// find follows abstract origins and specifications from d to a DIE that has the attribute.
func (i *debugInfo) find(d *die, attr dwarf.Attr) *die {
	for range 4 {
		if d == nil || d.Val(attr) != nil {
			return d
		}
		next, ok := d.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			next, _ = d.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		d = i.at[next]
	}
	return nil
}

// typeOf returns the DIE of d's type, or nil for void.
func (i *debugInfo) typeOf(d *die) *die {
	if d = i.find(d, dwarf.AttrType); d == nil {
		return nil
	}
	return i.at[d.Val(dwarf.AttrType).(dwarf.Offset)]
}

func (i *debugInfo) nameOf(d *die) string {
	if d = i.find(d, dwarf.AttrName); d == nil {
		return ""
	}
	return d.name()
}

func (d *die) name() string {
	name, _ := d.Val(dwarf.AttrName).(string)
	return name
}

func (d *die) declaration() bool {
	is, _ := d.Val(dwarf.AttrDeclaration).(bool)
	return is
}

func isRecord(d *die) bool {
	return d.Tag == dwarf.TagStructType || d.Tag == dwarf.TagUnionType || d.Tag == dwarf.TagClassType
}

// leftOut reports whether the BTF lacks a member, because no unit defines its type.
func (i *debugInfo) leftOut(member *die) bool {
	t := i.typeOf(member)
	for t != nil && slices.Contains([]dwarf.Tag{dwarf.TagArrayType, dwarf.TagTypedef,
		dwarf.TagConstType, dwarf.TagVolatileType}, t.Tag) {
		t = i.typeOf(t)
	}
	return t != nil && isRecord(t) && t.declaration() && !i.defined[t.name()]
}

func (d *die) children(tags ...dwarf.Tag) []*die {
	var all []*die
	for _, k := range d.kids {
		if slices.Contains(tags, k.Tag) {
			all = append(all, k)
		}
	}
	return all
}

func (d *die) number(attr dwarf.Attr) (int64, bool) {
	n, ok := d.Val(attr).(int64)
	return n, ok
}

// entry returns the address at which a function's code begins, and whether the function has code.
func (i *debugInfo) entry(d *die) (uint64, bool) {
	ranges, err := i.data.Ranges(d.Entry)
	if err != nil || len(ranges) == 0 {
		return 0, false
	}
	return ranges[0][0], true
}

// address returns a variable's address, and whether the variable's location is only an address.
func (i *debugInfo) address(d *die) (uint64, bool) {
	const opAddr, opAddrx = 0x03, 0xa1
	location, _ := d.Val(dwarf.AttrLocation).([]byte)
	if len(location) == 9 && location[0] == opAddr {
		return binary.LittleEndian.Uint64(location[1:]), true
	}
	if len(location) > 1 && location[0] == opAddrx {
		index, n := binary.Uvarint(location[1:])
		pool := i.pools[d]
		if n == len(location)-1 && index*8+8 <= uint64(len(pool)) {
			return binary.LittleEndian.Uint64(pool[index*8:]), true
		}
	}
	return 0, false
}

// memberOffset returns the offset of a member in bytes. The offset is 0 if the DWARF gives no
// location, which is so for members of unions.
func (d *die) memberOffset() (int64, error) {
	switch at := d.Val(dwarf.AttrDataMemberLoc).(type) {
	case nil:
		return 0, nil
	case int64:
		return at, nil
	case []byte:
		const opPlusUconst = 0x23
		if len(at) > 1 && at[0] == opPlusUconst {
			n, _ := binary.Uvarint(at[1:])
			return int64(n), nil
		}
	}
	return 0, fmt.Errorf("%#x: unknown form of a member's location", d.Offset)
}
