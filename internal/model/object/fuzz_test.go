package object

import (
	"bytes"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func FuzzRead(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(write(f, randomObject(seed)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := read(data)
		if err != nil {
			return
		}
		checkStable(t, o)
	})
}

// checkStable checks that an object, if it can be written, is read back as the same object.
func checkStable(t *testing.T, o *Object) {
	first, err := Write(o, 1)
	if err != nil {
		return // a limit of BTF
	}
	back, err := read(first)
	if err != nil {
		t.Fatalf("can't read what was written: %v", err)
	}
	if !bytes.Equal(first, write(t, back)) {
		t.Fatal("written differently after a round trip")
	}
}

// FuzzUnits changes only .BTF.units in an object whose .BTF is good.
func FuzzUnits(f *testing.F) {
	const seeds = 8
	for seed := range uint64(seeds) {
		_, units := sections(f, randomObject(seed))
		f.Add(seed, units)
	}
	f.Fuzz(func(t *testing.T, seed uint64, units []byte) {
		o := randomObject(seed % seeds)
		records, _ := sections(t, o)
		if back, err := read(assemble(t, o.Target, records, units)); err == nil {
			checkStable(t, back)
		}
	})
}

func FuzzFromBTF(f *testing.F) {
	for _, b := range []*btf.Blob{two(false, 8), ring(6, 0), ring(4)} {
		data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(f)
		f.Add(data)
	}
	for seed := range uint64(8) {
		data, _ := sections(f, randomObject(seed))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		blob, err := btf.Parse(data, nil)
		if err != nil {
			return
		}
		TargetOf(blob)
		checkShapes(t, blob)
		if o, err := FromBTF(amd64, blob); err == nil {
			o.Target.Order = byteOrder(blob)
			checkStable(t, o)
		}
	})
}

// sections returns the content of an object's .BTF and .BTF.units.
func sections(t testing.TB, o *Object) (records, units []byte) {
	t.Helper()
	n, err := o.normal()
	must.OK(t, err)
	l, err := newNumbering(n, 1)
	must.OK(t, err)
	if records, err = l.records(n.Target.Order); err != nil {
		t.Fatal(err)
	}
	if units, err = l.units(n); err != nil {
		t.Fatal(err)
	}
	return records, units
}

// assemble makes an ELF file from those sections that aren't nil.
func assemble(t testing.TB, target Target, records, units []byte) []byte {
	t.Helper()
	f := elfwrite.File{AddrSize: target.AddrSize, Order: target.Order, Machine: target.Machine}
	if records != nil {
		f.Sections = append(f.Sections, elfwrite.Section{Name: btf.SectionTypes, Data: records, Align: 4})
	}
	if units != nil {
		f.Sections = append(f.Sections, elfwrite.Section{Name: SectionUnits, Data: units})
	}
	data := must.Get(f.Bytes())(t)
	return data
}
