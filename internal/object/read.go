package object

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Read is the inverse of Write. data may change afterwards.
func Read(data []byte) (*Object, error) {
	f, err := elf.Parse("BTF object", data)
	if err != nil {
		return nil, err
	}
	return readObject(f)
}

// readObject reads a .btfo file. Errors begin with its name.
func readObject(f *elf.File) (*Object, error) {
	o, err := decodeObject(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return o, nil
}

func decodeObject(f *elf.File) (*Object, error) {
	records, units := f.Section(btf.SectionTypes), f.Section(SectionUnits)
	if records == nil || units == nil {
		return nil, fmt.Errorf("not a BTF object: it needs the sections %s and %s; run btfgen object first", btf.SectionTypes, SectionUnits)
	}
	blob, err := btf.Parse(records.Raw(), nil)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", btf.SectionTypes, err)
	}
	if byteOrder(blob) != f.Order {
		return nil, fmt.Errorf("section %s is %v, but the file is %v", btf.SectionTypes, byteOrder(blob),
			f.Order)
	}
	s, err := decodeUnits(units.Raw(), blob)
	if err != nil {
		return nil, err
	}
	o := New(target(f), s.features)
	if err := o.addUnits(blob, s); err != nil {
		return nil, fmt.Errorf("section %s: %w", btf.SectionTypes, err)
	}
	return o, nil
}

func target(f *elf.File) Target {
	return Target{AddrSize: f.AddrSize, Order: f.Order, Machine: uint16(f.Machine)}
}

// addUnits adds the shapes of blob and the units of s to the empty object o.
func (o *Object) addUnits(blob *btf.Blob, s *unitsSection) error {
	r, err := newRecords(o.Graph, []*btf.Blob{blob})
	if err != nil {
		return err
	}
	order, err := r.childrenFirst()
	if err != nil {
		return err
	}
	var wrong error
	used := 0
	sh := &shaper{records: r}
	sh.pin = func(id uint32, slot int, target uint32) (types.Hash, bool) {
		p, ok := s.refs[slotOf{id, uint32(slot)}]
		if !ok {
			return types.Hash{}, false
		}
		used++
		if s.pins[p].def != target && wrong == nil {
			t, _ := r.at(id)
			wrong = typeError(id, t, "refers to [%d] in slot %d, but section %s says [%d]", target, slot,
				SectionUnits, s.pins[p].def)
		}
		return s.pins[p].hash, true
	}
	sh.amend = func(id uint32, n *types.Node) {
		if n.Kind == types.KindFunc || n.Kind == types.KindVar {
			n.Size = s.sizes[id]
		}
	}
	if err := sh.shape(order); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	if used != len(s.refs) {
		return fmt.Errorf("section %s pins references that do not exist or are none to a tag",
			SectionUnits)
	}
	byNode := make([]uint32, len(o.Graph.Nodes))
	for id := uint32(1); id < r.end; id++ {
		if other := byNode[sh.ids[id]]; other != 0 {
			t, _ := r.at(id)
			return typeError(id, t, "is the same type as [%d]; a BTF object holds each once", other)
		}
		byNode[sh.ids[id]] = id
	}
	set := newUnitSet(o.Graph)
	for i := range s.units {
		rec := &s.units[i]
		u := Unit{File: o.Graph.Strs.Intern([]byte(rec.file)), Linked: rec.linked, Count: rec.count,
			Items: make([]types.ID, 0, rec.items)}
		for _, g := range rec.groups {
			for _, id := range s.groups[g] {
				u.Items = append(u.Items, sh.ids[id])
			}
		}
		if _, err := set.add(u); err != nil {
			return err
		}
	}
	o.Units = set.units
	return nil
}
