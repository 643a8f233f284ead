package object

import (
	"errors"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// ReadFile reads an input of a link: a .btfo file; raw BTF; or an ELF file with a .BTF section,
// such as a vmlinux or an object file from gcc -gbtf. Errors begin with the path. The parameter
// base is the base of split BTF, or nil. It isn't used for .btfo files, nor for an ELF file with a
// section .BTF.base, which is then the base. The object includes the units of the bases.
func ReadFile(path string, base *btf.Blob) (*Object, error) {
	f, data, err := btf.Open(path)
	if err != nil {
		return nil, err
	}
	if f == nil && !btf.HasMagic(data) {
		if text := elf.Foreign(data); text != "" {
			return nil, fmt.Errorf("%s: %s", path, text)
		}
		return nil, fmt.Errorf("%s: neither a BTF object nor BTF (starts with %q); make BTF objects "+
			"with btfgen object", path, data[:min(4, len(data))])
	}
	if f != nil {
		defer f.Close()
	}
	o, err := readContent(f, data, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// readContent reads an ELF file, or raw BTF if f is nil.
func readContent(f *elf.File, data []byte, base *btf.Blob) (*Object, error) {
	var t Target
	var blobs []*btf.Blob
	var err error
	switch {
	case f != nil && f.Section(SectionUnits) != nil:
		return readObject(f)
	case base.EndsOnly():
		return nil, errors.New("split BTF needs its base as BTF, not as an index; " +
			"pass the BTF as --base")
	case f == nil:
		blobs, err = btf.ParseAll(data, base)
	default:
		t = target(f)
		blobs, err = btf.ReadELF(f, base)
	}
	if err != nil {
		return nil, err
	}
	for _, b := range blobs {
		if b.Base == nil {
			continue
		}
		if err := b.CheckRefs(); err != nil {
			return nil, err
		}
	}
	return FromBTF(t, blobs...)
}

func readObject(f *elf.File) (*Object, error) {
	records, units := f.Section(btf.SectionTypes), f.Section(SectionUnits)
	if records == nil || units == nil {
		return nil, fmt.Errorf("not a BTF object: it needs the sections %s and %s; "+
			"run btfgen object first", btf.SectionTypes, SectionUnits)
	}
	blob, err := btf.Parse(records.Raw(), nil)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", btf.SectionTypes, err)
	}
	if byteOrder(blob) != f.Order {
		return nil, fmt.Errorf("section %s is %v, but the file is %v"+message.Rebuild,
			btf.SectionTypes, byteOrder(blob), f.Order)
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
	if err := noLocations(blob); err != nil {
		return err
	}
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
	sh := &shaper{records: r, sizes: s.sizes}
	sh.pin = func(id, ref, target uint32) (types.Hash, bool) {
		p, ok := s.refs[refOf{id, ref}]
		if !ok {
			return types.Hash{}, false
		}
		used++
		if s.pins[p].def != target && wrong == nil {
			t, _ := r.at(id)
			wrong = damagedType(id, t, "refers to [%d] by reference %d, but section %s says [%d]", target,
				ref, SectionUnits, s.pins[p].def)
		}
		return s.pins[p].hash, true
	}
	if err := sh.shape(order); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	if used != len(s.refs) {
		return fmt.Errorf("section %s has pins for references that don't exist or don't lead to a tag"+
			message.Rebuild, SectionUnits)
	}
	byNode := make([]uint32, len(o.Graph.Nodes))
	for id := uint32(1); id < r.end; id++ {
		if other := byNode[sh.ids[id]]; other != 0 {
			t, _ := r.at(id)
			return damagedType(id, t, "is the same type as [%d], but a BTF object holds each type once",
				other)
		}
		byNode[sh.ids[id]] = id
	}
	set := newUnitSet(o.Graph)
	if err := s.addTo(set, func(id uint32) types.ID { return sh.ids[id] }); err != nil {
		return err
	}
	o.Units = set.units
	return nil
}
