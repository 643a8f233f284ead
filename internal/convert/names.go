package convert

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// name is a string attribute as the DWARF gives it, with the hash of the string.
type name struct {
	val     uint64
	class   dwarf.Class // ClassNone: no name
	odd     bool        // not an identifier
	spelled bool        // hash is the hash of the identifier that spell makes
	hash    types.Hash
}

// name reads attribute s of e as a name; an empty string counts as no name.
func (u *unit) name(e *dwarf.DIE, s dwarf.Attr) (name, error) { return u.nameOf(e.Off, e.Value(s)) }

func (u *unit) nameOf(die uint32, a dwarf.Value) (name, error) {
	if a.Class == dwarf.ClassNone {
		return name{}, nil
	}
	b, err := u.r.StringAt(die, a.Class, a.Val)
	if err != nil || len(b) == 0 {
		return name{}, err
	}
	return name{val: a.Val, class: a.Class, odd: !btf.ValidIdentifier(b),
		hash: types.HashString(b)}, nil
}

// identifier reads attribute s of e as the name of a type, member, enumerator or parameter. The
// kernel requires such a name to be an identifier.
// Rule: names that the kernel refuses. In DWARF.
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
	b, err := u.r.StringAt(0, n.class, n.val)
	if err != nil {
		return 0, err
	}
	if n.spelled {
		b = spell(b)
	}
	return u.c.store.g.Strs.InternHashed(b, n.hash), nil
}
