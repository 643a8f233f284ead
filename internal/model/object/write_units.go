package object

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// The start of a .BTF.units section: magic and version. The version changes whenever the section's
// format or the meaning of types in .BTF changes.
const (
	unitsMagic   = "btfu"
	unitsVersion = 4
	// globalsVersion is the version of objects made with global_var: they list the variables that are
	// not per-CPU. Other objects have the older version, so that their bytes stay the same.
	globalsVersion = 5
)

func (num *numbering) units(o *Object) ([]byte, error) {
	others := num.others()
	version := byte(unitsVersion)
	if o.Features.Has(features.GlobalVar) || len(others) > 0 {
		version = globalsVersion
	}
	b := append([]byte(unitsMagic), version)
	b = appendString(b, o.Features.String())
	b = binary.AppendUvarint(b, uint64(len(num.order)))
	b = num.appendPins(b)
	b = num.appendSizes(b, types.KindFunc)
	b = num.appendSizes(b, types.KindVar)
	if version == globalsVersion {
		b = appendList(b, others, 1)
	}
	return num.appendUnits(b, o.Units)
}

// others returns the variables that are not per-CPU: BTF has no place for Node.Flag of a VAR.
func (num *numbering) others() []uint32 {
	var list []uint32
	for i, id := range num.order {
		if n := num.g.Node(id); n.Kind == types.KindVar && n.Flag {
			list = append(list, uint32(i+1))
		}
	}
	return list
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendPins appends the pins, then for each pinned reference the type, the number of the
// reference, and the index of the pin.
func (num *numbering) appendPins(b []byte) []byte {
	type ref struct {
		id, number uint32
		stub       types.ID
	}
	var refs []ref
	for i, id := range num.order {
		n := num.g.Node(id)
		see := func(number uint32, to types.ID) {
			if num.g.Node(to).IsPinned() {
				refs = append(refs, ref{uint32(i + 1), number, to})
			}
		}
		if !num.pinned || n.Kind == types.KindStub {
			continue
		}
		see(ownRef, n.Ref)
		for i, e := range num.g.ElemsOf(n) {
			see(elemRef+uint32(i), e.Ref)
		}
	}
	index := map[types.ID]uint64{}
	for _, r := range refs {
		index[r.stub] = 0
	}
	pin := func(stub types.ID) types.Hash { return num.g.Pin(num.g.Node(stub)) }
	pins := slices.SortedFunc(maps.Keys(index), func(a, b types.ID) int {
		return cmp.Or(cmp.Compare(num.id[a], num.id[b]), pin(a).Cmp(pin(b)))
	})
	b = binary.AppendUvarint(b, uint64(len(pins)))
	last := uint32(0)
	for i, stub := range pins {
		index[stub] = uint64(i)
		b = binary.AppendUvarint(b, uint64(num.id[stub]-last))
		b = binary.LittleEndian.AppendUint64(b, pin(stub).A)
		b = binary.LittleEndian.AppendUint64(b, pin(stub).B)
		last = num.id[stub]
	}
	b = binary.AppendUvarint(b, uint64(len(refs)))
	last = 0
	for _, r := range refs {
		b = binary.AppendUvarint(b, uint64(r.id-last))
		b = binary.AppendUvarint(b, uint64(r.number))
		b = binary.AppendUvarint(b, index[r.stub])
		last = r.id
	}
	return b
}

// appendSizes appends the nonzero Node.Size of functions or variables, which BTF can't hold.
func (num *numbering) appendSizes(b []byte, kind types.Kind) []byte {
	count := 0
	var list []byte
	last := uint32(0)
	for i, id := range num.order {
		if n := num.g.Node(id); n.Kind == kind && n.Size != 0 {
			count++
			list = binary.AppendUvarint(list, uint64(uint32(i+1)-last))
			list = binary.AppendUvarint(list, uint64(n.Size))
			last = uint32(i + 1)
		}
	}
	return append(binary.AppendUvarint(b, uint64(count)), list...)
}

// appendUnits appends the groups, then the units, ordered by content, as lists of groups. A group
// is a list of types that are items of the same units; each type is in at most one group. Units get
// most types from headers, and all types of a header together. So lists of groups are several times
// shorter than lists of types.
func (num *numbering) appendUnits(b []byte, units []Unit) ([]byte, error) {
	order, hashes := make([]int, len(units)), make([]types.Hash, len(units))
	for i := range order {
		order[i], hashes[i] = i, unitHash(num.g, &units[i])
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &units[a], &units[b]
		return cmp.Or(bytes.Compare(num.g.Strs.Bytes(x.File), num.g.Strs.Bytes(y.File)),
			cmp.Compare(linkedBit(x), linkedBit(y)), hashes[a].Cmp(hashes[b]))
	})
	groups, of, err := num.group(units)
	if err != nil {
		return nil, err
	}
	b = binary.AppendUvarint(b, uint64(len(groups)))
	for _, list := range groups {
		b = appendList(b, list, 1)
	}

	b = binary.AppendUvarint(b, uint64(len(units)))
	const some = 1 << 8 // units that a thread writes at a time
	parts := make([][]byte, (len(order)+some-1)/some)
	parallel.Do(num.jobs, len(parts), func(part int) {
		seen := make([]int, len(groups))
		var list []uint32
		for i := part * some; i < min((part+1)*some, len(order)); i++ {
			u, last := &units[order[i]], ""
			if i > 0 {
				last = num.g.Strs.String(units[order[i-1]].File)
			}
			list = list[:0]
			for _, id := range u.Items {
				if g := of[num.record[id]]; seen[g] != i+1 {
					seen[g] = i + 1
					list = append(list, g)
				}
			}
			slices.Sort(list)
			parts[part] = appendUnit(parts[part], u, num.g.Strs.String(u.File), last, list)
		}
	})
	return append(b, slices.Concat(parts...)...), nil
}

// appendUnit appends a unit with the given name and groups. last is the name of the unit before it.
func appendUnit(b []byte, u *Unit, name, last string, groups []uint32) []byte {
	common := 0
	for common < min(len(name), len(last)) && name[common] == last[common] {
		common++
	}
	b = binary.AppendUvarint(b, uint64(common))
	b = appendString(b, name[common:])
	b = binary.AppendUvarint(b, uint64(u.Count)<<1|linkedBit(u))
	return appendList(b, groups, 0)
}

func linkedBit(u *Unit) uint64 {
	if u.FromBTF {
		return 1
	}
	return 0
}

// group returns the groups, ordered by the number of their units (most first) and by their first
// type. The result groupOf has, for each type, the index of the type's group.
func (num *numbering) group(units []Unit) (groups [][]uint32, groupOf []uint32, err error) {
	type member struct {
		units uint64
		in    types.Hash // the sum of a random number for each unit that has the type
	}
	members := make([]member, len(num.order)+1)
	seen := make([]int, len(num.order)+1)
	for i := range units {
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], uint64(i))
		h := types.HashString(w[:])
		for _, id := range units[i].Items {
			t := num.record[id]
			if seen[t] == i+1 {
				return nil, nil, fmt.Errorf("a unit of %q lists type %q twice",
					num.g.Strs.String(units[i].File), num.g.Name(num.g.Node(id)))
			}
			seen[t] = i + 1
			m := &members[t]
			m.units++
			m.in = m.in.Plus(h)
		}
	}
	index := map[types.Hash]int{}
	for t := range members {
		m := &members[t]
		if m.units == 0 {
			continue
		}
		i, ok := index[m.in]
		if !ok {
			i = len(groups)
			index[m.in] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], uint32(t))
	}
	slices.SortFunc(groups, func(a, b []uint32) int {
		x, y := members[a[0]].units, members[b[0]].units
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a[0], b[0]))
	})
	groupOf = make([]uint32, len(members))
	for i, list := range groups {
		for _, t := range list {
			groupOf[t] = uint32(i)
		}
	}
	return groups, groupOf, nil
}
