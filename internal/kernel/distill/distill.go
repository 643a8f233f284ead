// Package distill gives split BTF its own small base, so that it fits other builds of the kernel,
// whose types have other ids.
//
// The BTF of a module refers to the kernel's types by id, so it fits only one build of the kernel.
// The distilled base is a small BTF in place of the kernel's: the name and size of each of the
// kernel's types that the module needs. If a module has one (in the section .BTF.base), the kernel
// looks up these types among its own when it loads the module, and replaces the ids (btf_relocate
// in tools/lib/bpf/btf_relocate.c, which the kernel compiles too).
//
// Types go to the same place as with btf__distill_base of libbpf 1.8:
//
//	distilled base   INT, FLOAT, FWD; named structs and unions, with their size and without members;
//	                 named enums of either width, as ENUM with their size and without values
//	split BTF        all other types that it refers to: pointers, arrays, typedefs, prototypes,
//	                 anonymous structs, unions and enums
//
// There are two differences. A type of the base that shares its name and size with another one, so
// that the kernel could not find it, is written in full into the split BTF; libbpf puts it into a
// distilled base that the kernel then refuses. And if nothing refers to the base, the distilled
// base has one INT, since the kernel refuses BTF without types.
package distill

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

// Encode distills the base of the raw split BTF in data, which is based on base. It returns the
// distilled base, and the split BTF on that base; both raw, in canonical order.
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

// Split distills the base of b. It returns the distilled base, and b on that base.
func Split(b *btf.Blob) (base, split *btf.Blob, err error) {
	if b.Base == nil {
		return nil, nil, fmt.Errorf("the BTF is not split BTF: it has no base to distill")
	}
	d := &distiller{src: b, start: b.StartID, place: make([]place, b.StartID)}
	if err := d.findNeeded(); err != nil {
		return nil, nil, err
	}
	base = d.makeBase()
	if split, err = d.makeSplit(base); err != nil {
		return nil, nil, err
	}
	return base, split, nil
}

// place says where a type of the old base goes: the base of the given BTF.
type place uint8

const (
	nowhere place = iota // it is not needed
	inBase
	inSplit
)

type distiller struct {
	src    *btf.Blob
	start  uint32              // the first id of src's own types
	place  []place             // of each type of the old base, by id
	byName map[string][]uint32 // what sameName returns; nil before its first call
	ids    []uint32            // the new ids, by old id
}

// findNeeded sets the place of the types of the old base that src refers to, directly or through
// others. It does not follow the references of types that go into the distilled base.
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
			return fmt.Errorf("BTF type [%d] %v %s of the base is referred to, and can't be distilled",
				id, t.Kind, d.src.TypeName(t))
		}
		if d.toBase(id, t) {
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

func (d *distiller) toBase(id uint32, t *btf.Type) bool {
	return relocate.Looks(t) && d.src.TypeName(t) != "" && d.findable(id, t)
}

// makeBase makes the distilled base, in the order of names, and sets the new ids.
func (d *distiller) makeBase() *btf.Blob {
	list := d.placed(inBase)
	if len(list) == 0 {
		list = d.anyInt()
	}
	d.sort(list, nil)
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
	return w.Finish()
}

// anyInt returns the id of an INT of the old base that the kernel can find: "int" or else the first
// one. The list is empty if there is no such INT.
func (d *distiller) anyInt() []uint32 {
	var list []uint32
	for id := uint32(1); id < d.start; id++ {
		t, _ := d.src.ByID(id)
		if t.Kind != btf.KindInt || !d.toBase(id, t) {
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

// placed lists the ids of the types of the old base that go to one place.
func (d *distiller) placed(where place) (list []uint32) {
	for id, p := range d.place {
		if p == where {
			list = append(list, uint32(id))
		}
	}
	return list
}
