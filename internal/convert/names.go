package convert

import (
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// name is a string attribute as it stands in the DWARF, with the hash of its content.
type name struct {
	val   uint64
	class dwarf.Class // ClassNone: no name
	hash  types.Hash
}

// nameCache remembers the hashes of strings in .debug_str by offset. It is direct-mapped and small,
// for a section of unmerged strings (ld -r) may hold a hundred copies of each.
type nameCache struct {
	slots []nameSlot // a power of two
	shift uint8      // of the hash
}

type nameSlot struct {
	off  uint64 // + 1
	hash types.Hash
	str  types.Str // in the converter's graph; 0: it may not be there
}

func (c *nameCache) slot(off uint64) *nameSlot {
	return &c.slots[off*0x9e3779b97f4a7c15>>c.shift]
}

// reset forgets all, for units of about size bytes in all.
func (c *nameCache) reset(size int) {
	n := max(8, min(15, bits.Len(uint(size/32))))
	c.shift = uint8(64 - n)
	if 1<<n > cap(c.slots) {
		c.slots = make([]nameSlot, 1<<n)
		return
	}
	c.slots = c.slots[:1<<n]
	clear(c.slots)
}

// name reads attribute s of e as a name; an empty one counts as no name.
func (u *unit) name(e *dwarf.DIE, s dwarf.Attr) (name, error) { return u.nameOf(e.Off, e.Value(s)) }

// nameOf reads attribute a of the entry at die as a name.
func (u *unit) nameOf(die uint32, a dwarf.Value) (name, error) {
	if a.Class == dwarf.ClassNone {
		return name{}, nil
	}
	if a.Class == dwarf.ClassStrx {
		var err error
		if a, err = u.r.ByOffset(die, a); err != nil {
			return name{}, err
		}
	}
	n := name{val: a.Val, class: a.Class}
	if n.class != dwarf.ClassStrp {
		b, err := u.r.StringAt(die, n.class, n.val)
		if err != nil || len(b) == 0 {
			return name{}, err
		}
		n.hash = types.HashString(b)
		return n, nil
	}
	slot := u.c.names.slot(n.val)
	if slot.off == n.val+1 {
		n.hash = slot.hash
	} else {
		b, err := u.r.StringAt(die, n.class, n.val)
		if err != nil {
			return name{}, err
		}
		if len(b) > 0 {
			n.hash = types.HashString(b)
		}
		*slot = nameSlot{off: n.val + 1, hash: n.hash}
	}
	if n.hash == (types.Hash{}) {
		return name{}, nil
	}
	return n, nil
}

// intern brings n into the graph, which is locked.
func (u *unit) intern(n name) (types.Str, error) {
	if n.class == dwarf.ClassNone {
		return 0, nil
	}
	var slot *nameSlot
	if n.class == dwarf.ClassStrp {
		if slot = u.c.names.slot(n.val); slot.off != n.val+1 {
			slot = nil
		} else if slot.str != 0 {
			return slot.str, nil
		}
	}
	b, err := u.r.StringAt(0, n.class, n.val)
	if err != nil {
		return 0, err
	}
	str := u.c.g.Strs.InternHashed(b, n.hash)
	if slot != nil {
		slot.str = str
	}
	return str, nil
}
