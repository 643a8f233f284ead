package object

import (
	"encoding/binary"
	"math"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// A file may have 1<<20 items, plus itemsPerByte for each of its bytes, but at most maxItems.
// Units that include the same header take 12 bytes each, and a byte for each type in the header: 24
// units with 8,000 types have 23 items per byte; 3,000 units with 20,000 types would have 1,070.
const (
	maxItems     = 1 << 27
	itemsPerByte = 1 << 12
)

// unitsSection is a decoded section .BTF.units. Its type ids are those of .BTF.
type unitsSection struct {
	features features.Set
	pins     []pinRecord
	refs     map[refOf]uint32 // by pinned reference: index in pins
	sizes    []uint32         // Node.Size of FUNCs and VARs, by type id; 0 for other types
	groups   [][]uint32
	units    []unitRecord
}

type pinRecord struct {
	def  uint32
	hash types.Hash
}

type refOf struct{ id, ref uint32 }

type unitRecord struct {
	file   string
	linked bool
	count  uint32
	groups []uint32
	items  int // number of items in all groups
}

// decodeUnits decodes the section .BTF.units that belongs to blob.
// Rule: .btfo: reading and versions. docs/btfo.md has the format.
func decodeUnits(data []byte, blob *btf.Blob) (*unitsSection, error) {
	d := &decoder{data: data}
	if magic := d.bytes(len(unitsMagic)); string(magic) != unitsMagic {
		d.fail("no magic %q", unitsMagic)
	}
	version := d.uint()
	if version != unitsVersion && version != globalsVersion {
		d.failVersion(version, unitsVersion)
	}
	s := &unitsSection{refs: map[refOf]uint32{}, sizes: make([]uint32, blob.EndID())}
	names := d.bytes(d.count(1, "bytes"))
	if set, err := features.Parse(string(names)); d.err == nil && err != nil {
		d.fail("%v", err)
	} else {
		s.features = set
	}
	if version == unitsVersion && s.features.Has(features.GlobalVar) {
		d.failVersion(version, globalsVersion)
	}
	if n := d.uint(); d.err == nil && n != uint64(len(blob.Types)) {
		d.fail("it describes %d types, but section %s has %d; the file was altered", n,
			btf.SectionTypes, len(blob.Types))
	}
	end := blob.EndID()
	s.decodePins(d, end)
	s.decodeSizes(d, blob, btf.KindFunc)
	s.decodeSizes(d, blob, btf.KindVar)
	decodeOthers(d, blob, version == globalsVersion)
	s.decodeUnits(d, end)
	if d.err == nil && d.off != len(data) {
		d.fail("%d bytes follow the last unit", len(data)-d.off)
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

func (s *unitsSection) decodePins(d *decoder, end uint32) {
	last := uint64(0)
	for range d.count(17, "pins") {
		last += uint64(d.uint32("type id"))
		b := d.bytes(16)
		if d.err == nil && (last == 0 || last >= uint64(end)) {
			d.fail("pinned type [%d] does not exist", last)
		}
		if d.err != nil {
			return
		}
		h := types.Hash{A: binary.LittleEndian.Uint64(b), B: binary.LittleEndian.Uint64(b[8:])}
		s.pins = append(s.pins, pinRecord{uint32(last), h})
	}
	last = 0
	for range d.count(3, "pinned references") {
		last += uint64(d.uint32("type id"))
		if d.err == nil && last >= uint64(end) {
			d.fail("type [%d] with a pinned reference does not exist", last)
		}
		ref := d.uint32("reference")
		p := d.below(uint64(len(s.pins)), "pin")
		if d.err != nil {
			return
		}
		s.refs[refOf{uint32(last), ref}] = p
	}
}

func (s *unitsSection) decodeSizes(d *decoder, blob *btf.Blob, kind btf.Kind) {
	last := uint64(0)
	for range d.count(2, "sizes") {
		last += uint64(d.uint32("type id"))
		size := d.uint32("size")
		if d.err != nil {
			return
		}
		if last == 0 || last >= uint64(blob.EndID()) || blob.Types[last-1].Kind != kind {
			d.fail("type [%d] is not a %v", last, kind)
			return
		}
		s.sizes[uint32(last)] = size
	}
}

// decodeOthers reads the variables that are not per-CPU, if the file lists them. It sets KFlag in
// their records, from which types.Node.Flag is set later.
func decodeOthers(d *decoder, blob *btf.Blob, listed bool) {
	for i := range blob.Types {
		if t := &blob.Types[i]; t.Kind == btf.KindVar {
			t.KFlag = false
		}
	}
	if !listed || d.err != nil {
		return
	}
	for _, id := range d.list(1, blob.EndID(), "variable") {
		t := &blob.Types[id-1]
		if t.Kind != btf.KindVar {
			d.fail("type [%d] is not a %v", id, btf.KindVar)
			return
		}
		t.KFlag = true
	}
}

func (s *unitsSection) decodeUnits(d *decoder, end uint32) {
	used := make([]bool, end)
	for range d.count(2, "groups") {
		list := d.list(1, end, "type")
		for _, id := range list {
			if used[id] {
				d.fail("type [%d] is in two groups", id)
			}
			used[id] = true
		}
		if d.err == nil && len(list) == 0 {
			d.fail("empty group")
		}
		if d.err != nil {
			return
		}
		s.groups = append(s.groups, list)
	}
	limit := min(maxItems, 1<<20+itemsPerByte*uint64(len(d.data)))
	var total uint64
	var file []byte
	for range d.count(4, "units") {
		common := d.below(uint64(len(file))+1, "common prefix")
		name := d.bytes(d.count(1, "bytes"))
		flags := d.uint()
		u := unitRecord{linked: flags&1 != 0, count: uint32(flags >> 1),
			groups: d.list(0, uint32(len(s.groups)), "group")}
		if d.err == nil && (flags>>1 == 0 || flags>>1 > math.MaxUint32) {
			d.fail("count %d of a unit is out of range", flags>>1)
		}
		if d.err != nil {
			return
		}
		file = append(file[:common], name...)
		u.file = string(file)
		for _, g := range u.groups {
			u.items += len(s.groups[g])
		}
		if total += uint64(u.items + len(file)); total > limit {
			d.fail("the units expand to more than %d types and bytes of names", limit)
			return
		}
		s.units = append(s.units, u)
	}
}

// addTo adds the units to a set. The function node must return the node of a type id.
func (s *unitsSection) addTo(set *unitSet, node func(id uint32) types.ID) error {
	for i := range s.units {
		u := Unit{File: set.g.Strs.Intern([]byte(s.units[i].file))}
		s.expand(i, &u, node)
		if _, err := set.add(u); err != nil {
			return err
		}
	}
	return nil
}

// expand fills in everything but the file name of unit i.
func (s *unitsSection) expand(i int, u *Unit, node func(id uint32) types.ID) {
	rec := &s.units[i]
	u.FromBTF, u.Count, u.Items = rec.linked, rec.count, make([]types.ID, 0, rec.items)
	for _, g := range rec.groups {
		for _, id := range s.groups[g] {
			u.Items = append(u.Items, node(id))
		}
	}
}
