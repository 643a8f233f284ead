// Package distill makes a distilled base for split BTF. With such a base, the split BTF can be used
// with other builds of the kernel, in which types have different ids.
//
// The BTF of a module refers to the kernel's types by id, so usually it is valid for only one build
// of the kernel. A distilled base is a small base that has only the name and size of each kernel
// type that the module needs. If a module has a distilled base, in the section .BTF.base,
// then the kernel looks up these types in its own BTF when it loads the module, and replaces the
// ids (btf_relocate in tools/lib/bpf/btf_relocate.c, which is also part of the kernel).
//
// With two exceptions, this package puts each type where btf__distill_base of libbpf 1.8 puts it:
//
//	distilled base   INT, FLOAT, FWD; named structs and unions, with a size but no members; named
//	                 ENUM and ENUM64, both as an ENUM with a size but no values
//	split BTF        all other types to which the split BTF refers: pointers, arrays, typedefs,
//	                 prototypes, anonymous structs, unions and enums; functions that were
//	                 inlined, and locations of their parameters
//
// The first exception: if several types of the base have the same name and size, the kernel
// couldn't tell them apart, so this package copies them into the split BTF. libbpf puts them into
// the distilled base, which the kernel then rejects. The second exception: if nothing refers to the
// base, the distilled base contains one INT, because the kernel rejects BTF without types.
package distill

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

// Encode distills base, the base of the raw split BTF in data. It returns the distilled base and
// the split BTF that is based on it, both as raw BTF in canonical order.
func Encode(data []byte, base *btf.Blob) (distilled, split []byte, err error) {
	b, err := btf.Parse(data, base)
	if err != nil {
		return nil, nil, err
	}
	newBase, newSplit, err := Distill(b)
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

// Distill distills the base of b. It returns the distilled base, and a version of b that is based
// on the distilled base.
// Rule: distilled base: how it is made. Source: libbpf btf__distill_base.
func Distill(b *btf.Blob) (base, split *btf.Blob, err error) {
	if b.Base == nil {
		return nil, nil, fmt.Errorf("the BTF is not split, so it has no base to distill")
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

// place says where a type of the old base goes. The old base is the base of the input.
type place uint8

const (
	nowhere place = iota // the type is not needed
	inBase
	inSplit
)

type distiller struct {
	src    *btf.Blob
	start  uint32              // the first id of the types in src itself
	place  []place             // the place of each type of the old base, by id
	byName map[string][]uint32 // the results of sameName; nil before its first call
	ids    []uint32            // the new ids, by old id
}

// findNeeded sets the place of each type of the old base that src needs: it follows references, but
// not those from types that go into the distilled base.
func (d *distiller) findNeeded() error {
	var work []uint32
	bad := uint32(0)
	inlined := map[uint32]bool{} // the functions in LOCSECs
	need := func(owner *btf.Blob, t *btf.Type) {
		for ref := range owner.Refs(t) {
			if t.Kind == btf.KindLocsec {
				inlined[*ref] = true
			}
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
		switch {
		case t.Kind == btf.KindFunc && inlined[id]:
		case t.Kind == btf.KindFunc || t.Kind == btf.KindVar || t.Kind == btf.KindDatasec ||
			t.Kind == btf.KindDeclTag || t.Kind == btf.KindLocsec:
			return fmt.Errorf("the BTF refers to [%d] %v %s in the base, which can't be distilled",
				id, t.Kind, d.src.TypeName(t))
		}
		if d.toBase(id, t) {
			d.place[id] = inBase
		} else {
			need(owner, t)
		}
	}
	if bad != 0 {
		return fmt.Errorf("BTF: a type refers to [%d], but the last type is [%d]", bad, d.src.EndID()-1)
	}
	return nil
}

func (d *distiller) toBase(id uint32, t *btf.Type) bool {
	return relocate.Looks(t) && d.src.TypeName(t) != "" && d.findable(id, t)
}

// makeBase makes the distilled base, sorted by name, and sets the new ids.
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

// anyInt returns a list with the id of an INT in the old base that the kernel can find: if
// possible, the INT "int", otherwise the first INT. The list is empty if there is no such INT.
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

func (d *distiller) placed(where place) (list []uint32) {
	for id, p := range d.place {
		if p == where {
			list = append(list, uint32(id))
		}
	}
	return list
}
