package object

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// SectionUnits is the section that, together with btf.SectionTypes, makes an ELF file a .btfo file.
const SectionUnits = ".BTF.units"

// Write returns the .btfo file for an object. It has the nodes to which the units' items lead, in
// canonical order. Objects with the same meaning give the same bytes, however they were made.
// docs/btfo.md describes the format. If a type exceeds a limit of BTF, the error names the type.
// The result doesn't depend on jobs, the number of threads.
// Rule: .btfo: writing.
func Write(o *Object, jobs int) ([]byte, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	num, err := newNumbering(o, jobs)
	if err != nil {
		return nil, err
	}
	var records, units []byte
	var errs [2]error
	parallel.All(jobs, func() { records, errs[0] = num.records(o.Target.Order) },
		func() { units, errs[1] = num.units(o) })
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	f := elfwrite.File{AddrSize: o.Target.AddrSize, Order: o.Target.Order, Machine: o.Target.Machine,
		Sections: []elfwrite.Section{
			{Name: btf.SectionTypes, Data: records, Align: 8},
			{Name: SectionUnits, Data: units, Align: 1},
		}}
	return f.Bytes()
}

// normal copies o without duplicate units, and without features that have no meaning for it.
func (o *Object) normal() (*Object, error) {
	n := *o
	if n.Target.Order == nil {
		n.Target.Order = binary.LittleEndian
	}
	if !o.hasCandidates() {
		n.Features = o.claims().linkedFeatures()
	}
	set := newUnitSet(o.Graph)
	for _, u := range o.Units {
		if _, err := set.add(u); err != nil {
			return nil, err
		}
	}
	n.Units = set.units
	return &n, nil
}

func (num *numbering) records(order binary.ByteOrder) ([]byte, error) {
	offs := make([]uint32, num.g.Strs.Len()) // offsets of the names
	strLen := 0
	for _, s := range num.names {
		name := num.g.Strs.Bytes(s)
		if bytes.IndexByte(name, 0) >= 0 {
			return nil, fmt.Errorf("name %q contains a NUL byte, which BTF can't represent", name)
		}
		offs[s] = uint32(strLen)
		strLen += len(name) + 1
	}
	const some = 1 << 11 // types that a thread writes at a time
	var begin []uint64
	typeLen := uint64(0)
	for i, id := range num.order {
		if i%some == 0 {
			begin = append(begin, typeLen)
		}
		n := num.g.Node(id)
		kind := RecordKind(n)
		if n.Count > btf.MaxVlen {
			return nil, btf.VlenError(uint32(i+1), kind, num.g.Name(n), n.Count)
		}
		typeLen += kind.RecordLen(n.Count)
	}
	b := btf.Blob{Order: order, StartID: 1}
	m, err := btf.NewImage(&b, len(num.order), typeLen, strLen, btf.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	for _, s := range num.names {
		copy(m.Strings[offs[s]:], num.g.Strs.Bytes(s))
	}
	parallel.Do(num.jobs, len(begin), func(part int) {
		r := m.Records(begin[part])
		for _, id := range num.order[part*some : min((part+1)*some, len(num.order))] {
			n := num.g.Node(id)
			ids := num.id
			if n.Kind == types.KindDeclTag {
				ids = num.record
			}
			PutRecord(&r, n, num.g.ElemsOf(n), offs, ids)
		}
	})
	return m.Finish(), nil
}
