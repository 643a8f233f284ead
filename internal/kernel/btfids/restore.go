package btfids

import (
	"bytes"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Sorted reports whether the section had already been resolved when it was read, so that flags of a
// set8 may have moved. If so, Restore must be called.
func (s *Section) Sorted() bool { return s.firstSorted() != nil }

func (s *Section) firstSorted() *set {
	for i := range s.sets {
		if s.sets[i].old != nil {
			return &s.sets[i]
		}
	}
	return nil
}

func (s *Section) checkRestored() error {
	set := s.firstSorted()
	if set == nil {
		return nil
	}
	return symbolError(set.symbol, uint64(set.at), fmt.Errorf("the ids have already been "+
		"resolved, and this set was sorted by id; the BTF to which the ids refer is needed to find "+
		"out which flags belong to which kfunc; use the file before its ids were resolved"))
}

// Restore moves the flags of sorted sets back to the symbols of their functions. old is the BTF to
// which the ids in the section refer.
// Rule: .BTF_ids: flags in sets that are already sorted.
func (s *Section) Restore(old *btf.Blob) error {
	for set := s.firstSorted(); set != nil; set = s.firstSorted() {
		if err := s.restore(set, old); err != nil {
			return symbolError(set.symbol, uint64(set.at), err)
		}
		set.old = nil
	}
	return nil
}

// restore gives each symbol of a set the flags of the entry with the symbol's id. If a name was not
// found, its entry has the id 0; all such entries must have the same flags.
func (s *Section) restore(x *set, old *btf.Blob) error {
	if len(x.ids) != int(x.n) {
		return fmt.Errorf("the set has %d entries, but only %d of them have symbols; "+
			"is the symbol table stripped? "+unstripped, x.n, len(x.ids))
	}
	left := map[key][]id{} // the ids that have no flags yet, sorted by offset
	for _, y := range x.ids {
		left[key{y.kind, y.name}] = append(left[key{y.kind, y.name}], y)
	}
	var missing []entry // entries with the id 0
	for _, e := range x.old {
		if e.id == 0 {
			missing = append(missing, e)
			continue
		}
		typ, layer := old.ByID(e.id)
		if typ == nil {
			return wrongBTF(e.id, "is not in the old BTF")
		}
		k := key{typ.Kind, layer.TypeName(typ)}
		list := left[k]
		if len(list) == 0 {
			return wrongBTF(e.id, fmt.Sprintf("is %v %q, which has no symbol in the set", k.kind, k.name))
		}
		s.put(list[0].at+4, e.flags)
		left[k] = list[1:]
	}
	for _, e := range missing {
		if e.flags != missing[0].flags {
			return fmt.Errorf("several entries have the id 0 and different flags, so it is " +
				"unknown which flags belong to which name; use the file before its ids were " +
				"resolved")
		}
	}
	for _, list := range left { // one id for each entry in missing
		for _, y := range list {
			s.put(y.at+4, missing[0].flags)
		}
	}
	return nil
}

func wrongBTF(id uint32, what string) error {
	return fmt.Errorf("its id %d %s; use the BTF and base with which the ids were resolved, or "+
		"the file as it was before that", id, what)
}

// Unresolved returns the content of the section as the compiler made it: ids and counts are 0, and
// flags are at the symbols of their functions. It returns an error if Restore must be called first.
func (s *Section) Unresolved() ([]byte, error) {
	if err := s.checkRestored(); err != nil {
		return nil, err
	}
	return bytes.Clone(s.data), nil
}
