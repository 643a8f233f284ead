package btfids

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Kfunc is a function in a set8.
type Kfunc struct {
	Name  string
	Flags uint32 // KF_* in include/linux/btf.h
}

// Kfuncs lists the functions in all set8s, sorted by name, with the flags that resolve_btfids uses
// for implicit arguments (find_kfunc_flags). If several sets contain a function, its flags are from
// the set whose name sorts last, because resolve_btfids visits that set first in its tree. Kfuncs
// returns an error if Restore must be called first. (Package facts combines flags from all sets.)
func (s *Section) Kfuncs() ([]Kfunc, error) {
	if err := s.checkRestored(); err != nil {
		return nil, err
	}
	var sets []*set
	for i := range s.sets {
		if s.sets[i].entry == set8Entry {
			sets = append(sets, &s.sets[i])
		}
	}
	slices.SortFunc(sets, func(a, b *set) int { return cmp.Compare(b.name, a.name) })
	seen := map[string]bool{}
	var list []Kfunc
	for _, set := range sets {
		for _, x := range set.ids {
			if x.kind == btf.KindFunc && !seen[x.name] {
				seen[x.name] = true
				list = append(list, Kfunc{x.name, s.word(x.at + 4)})
			}
		}
	}
	slices.SortFunc(list, func(a, b Kfunc) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}
