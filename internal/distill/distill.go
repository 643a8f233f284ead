// Package distill makes split BTF that finds its base again in a kernel whose types have other ids.
//
// The BTF of a module names the kernel's types by id, so it fits one build of the kernel only. The
// distilled base is a small BTF of its own that stands for the kernel's: it has of each type that
// the module refers to what tells it from others, a name and a size. When a module is loaded that
// brings its base along (the section .BTF.base), the kernel finds each of these among its own
// types, and puts the ids in (btf_relocate in tools/lib/bpf/btf_relocate.c, which the kernel
// compiles too).
//
// What is in the base and what is in the module's own BTF is as with libbpf 1.8's
// btf__distill_base:
//
//	in the base         INT, FLOAT, FWD; named structs and unions with their size, but without members; named enums of
//	                    either width as ENUM with their size, but without values
//	in the module's     all else that it refers to: pointers, arrays, typedefs, prototypes, unnamed structs and enums …
//
// In two things it goes further. A type of the base that could not be found again, for another type
// of the base looks the same by name and size, is written in full into the module's BTF; libbpf
// writes a base that the kernel then refuses. And a base that nothing refers to gets an INT, for
// the kernel refuses BTF without types.
package distill

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// Encode distills the base of the split BTF in data, which stands on base. The results are raw BTF:
// the distilled base, and split BTF on that. Both are in canonical order.
func Encode(data []byte, base *btf.Blob) (distilled, split []byte, err error) {
	b, err := btf.Parse(data, base)
	if err != nil {
		return nil, nil, err
	}
	newBase, newSplit, err := Split(b)
	if err != nil {
		return nil, nil, err
	}
	if distilled, err = btf.Encode(newBase, btf.EncodeOptions{}); err != nil {
		return nil, nil, fmt.Errorf("distilled base: %w", err)
	}
	if split, err = btf.Encode(newSplit, btf.EncodeOptions{}); err != nil {
		return nil, nil, err
	}
	return distilled, split, nil
}

// Split distills the base of b. base stands alone, split stands on it.
func Split(b *btf.Blob) (base, split *btf.Blob, err error) {
	if b.Base == nil {
		return nil, nil, fmt.Errorf("BTF that stands alone has no base to distill")
	}
	d := &distiller{src: b, start: b.StartID, place: make([]place, b.StartID)}
	if err := d.findNeeded(); err != nil {
		return nil, nil, err
	}
	if base, err = d.makeBase(); err != nil {
		return nil, nil, err
	}
	if split, err = d.makeSplit(base); err != nil {
		return nil, nil, err
	}
	return base, split, nil
}

// place says where a type of the old base goes.
type place uint8

const (
	nowhere place = iota
	inBase
	inSplit
)

type distiller struct {
	src   *btf.Blob
	start uint32 // the first id of src's own types
	place []place
	same  index
	ids   []uint32 // by old id: the new one
}

// findNeeded finds the types of the old base that src reaches, and where they go. What a type in
// the base refers to is not needed.
func (d *distiller) findNeeded() error {
	var work []uint32
	bad := uint32(0)
	need := func(owner *btf.Blob, t *btf.Type) {
		for ref := range owner.Refs(t) {
			if id := *ref; id >= d.src.EndID() {
				bad = max(bad, id)
			} else if id != 0 && id < d.start && d.place[id] == nowhere {
				d.place[id] = inSplit
				work = append(work, id)
			}
		}
	}
	for i := range d.src.Types {
		need(d.src, &d.src.Types[i])
	}
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		t, owner := d.src.ByID(id)
		switch t.Kind {
		case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag:
			return fmt.Errorf("BTF type [%d] %v %s of the base is referred to, and can't be distilled", id,
				t.Kind, d.src.TypeName(t))
		}
		if d.stays(id, t) {
			d.place[id] = inBase
		} else {
			need(owner, t)
		}
	}
	if bad != 0 {
		return fmt.Errorf("BTF: a type refers to [%d], the last one is [%d]", bad, d.src.EndID()-1)
	}
	return nil
}

// stays tells whether a type goes into the distilled base.
func (d *distiller) stays(id uint32, t *btf.Type) bool {
	switch t.Kind {
	case btf.KindInt, btf.KindFloat, btf.KindFwd, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		return d.src.TypeName(t) != "" && d.alone(id, t)
	}
	return false
}

// makeBase makes the distilled base, in the order of names. It notes the new ids.
func (d *distiller) makeBase() (*btf.Blob, error) {
	list := d.placed(inBase)
	if len(list) == 0 {
		list = d.anyInt()
	}
	d.sortByName(list)
	w := btf.NewBuilder(d.src.Order, nil, nil)
	d.ids = make([]uint32, d.src.EndID())
	for _, id := range list {
		t, _ := d.src.ByID(id)
		name := d.src.TypeName(t)
		switch t.Kind {
		case btf.KindStruct, btf.KindUnion:
			d.ids[id] = w.Composite(t.Kind, name, t.SizeOrType, false)
		case btf.KindEnum, btf.KindEnum64:
			d.ids[id] = w.Enum(btf.KindEnum, name, t.SizeOrType, false)
		default:
			x := *t
			x.NameOff = w.Name(name)
			d.ids[id] = w.Add(x)
		}
	}
	return w.Finish(), nil
}

// anyInt is an INT of the old base that can be found again, if there is one: "int", or else the
// first one.
func (d *distiller) anyInt() []uint32 {
	var list []uint32
	for id := uint32(1); id < d.start; id++ {
		t, _ := d.src.ByID(id)
		if t.Kind != btf.KindInt || !d.stays(id, t) {
			continue
		}
		if d.src.TypeName(t) == "int" {
			return []uint32{id}
		}
		if len(list) == 0 {
			list = append(list, id)
		}
	}
	return list
}

// placed lists the ids of the old base's types that go to one place.
func (d *distiller) placed(where place) (list []uint32) {
	for id, p := range d.place {
		if p == where {
			list = append(list, uint32(id))
		}
	}
	return list
}
