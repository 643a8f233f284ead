package convert

import (
	"fmt"
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// name is a string attribute as the DWARF gives it, with the hash of the string.
type name struct {
	val     uint64
	class   dwarf.Class // ClassNone: no name
	odd     bool        // not an identifier
	spelled bool        // hash is the hash of the identifier that spell makes
	hash    types.Hash
}

// nameCache remembers the hashes of strings in .debug_str by offset. It is direct-mapped and small,
// because a section whose strings are not merged (ld -r) may have a hundred copies of each string.
type nameCache struct {
	slots []nameSlot // their number is a power of two
	shift uint8      // reduces a hash of the offset to an index
}

type nameSlot struct {
	off  uint64 // the offset + 1; 0: the slot is free
	hash types.Hash
	str  types.Str // in the converter's graph; 0: unknown
	odd  bool      // not an identifier
}

func (c *nameCache) slot(off uint64) *nameSlot {
	return &c.slots[off*0x9e3779b97f4a7c15>>c.shift]
}

// reset empties the cache for reuse with units of about size bytes in total.
func (c *nameCache) reset(size int) {
	n := max(8, min(12, bits.Len(uint(size/64))))
	c.shift = uint8(64 - n)
	if 1<<n > cap(c.slots) {
		c.slots = pages.Make[nameSlot](1 << n)
		return
	}
	c.slots = c.slots[:1<<n]
	clear(c.slots)
}

// name reads attribute s of e as a name; an empty string counts as no name.
func (u *unit) name(e *dwarf.DIE, s dwarf.Attr) (name, error) { return u.nameOf(e.Off, e.Value(s)) }

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
		n.hash, n.odd = types.HashString(b), !btf.ValidIdentifier(b)
		return n, nil
	}
	slot := u.c.names.slot(n.val)
	if slot.off == n.val+1 {
		n.hash, n.odd = slot.hash, slot.odd
	} else {
		b, err := u.r.StringAt(die, n.class, n.val)
		if err != nil {
			return name{}, err
		}
		if len(b) > 0 {
			n.hash, n.odd = types.HashString(b), !btf.ValidIdentifier(b)
		}
		*slot = nameSlot{off: n.val + 1, hash: n.hash, odd: n.odd}
	}
	if n.hash == (types.Hash{}) {
		return name{}, nil
	}
	return n, nil
}

// identifier reads attribute s of e as the name of a type, member, enumerator or parameter. The
// kernel requires such a name to be an identifier.
func (u *unit) identifier(e *dwarf.DIE, s dwarf.Attr) (name, error) {
	n, err := u.name(e, s)
	if err != nil || !n.odd {
		return n, err
	}
	return u.spelled(e.Off, n)
}

// spelled returns n, the name of the entry at offset die, as an identifier.
func (u *unit) spelled(die uint32, n name) (name, error) {
	if !n.odd || n.spelled {
		return n, nil
	}
	b, err := u.r.StringAt(die, n.class, n.val)
	n.hash, n.spelled = types.HashString(spell(b)), true
	return n, err
}

// spell makes an identifier from a name in a language other than C: Option<u32> becomes
// Option_u32_. Every character that is not an ASCII letter, digit or underscore becomes an
// underscore. A name longer than the kernel's limit ends with a hash of the whole name.
func spell(s []byte) []byte {
	b := make([]byte, 0, len(s)+1)
	if len(s) > 0 && s[0] >= '0' && s[0] <= '9' {
		b = append(b, '_')
	}
	for _, c := range s {
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			c = '_'
		}
		b = append(b, c)
	}
	if len(b) > btf.MaxNameLen {
		b = fmt.Appendf(b[:btf.MaxNameLen-17], "_%016x", types.HashString(s).A)
	}
	return b
}

// intern adds n to the strings of the graph, which the caller has locked.
func (u *unit) intern(n name) (types.Str, error) {
	if n.class == dwarf.ClassNone {
		return 0, nil
	}
	var slot *nameSlot
	if n.class == dwarf.ClassStrp && !n.spelled {
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
	if n.spelled {
		b = spell(b)
	}
	str := u.c.store.g.Strs.InternHashed(b, n.hash)
	if slot != nil {
		slot.str = str
	}
	return str, nil
}
