package btfids

import (
	"bytes"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Sorted reports whether a set8 with several flags was sorted when the section was resolved. Then
// Restore is needed.
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
	return symbolError(set.symbol, uint64(set.at), fmt.Errorf("the section was resolved before, "+
		"which sorted this set; the BTF with which it was resolved is needed to assign its flags"))
}

// Restore moves the flags of sorted sets back to the symbols of their functions. old is the BTF
// whose ids the section has.
func (s *Section) Restore(old *btf.Blob) error {
	for set := s.firstSorted(); set != nil; set = s.firstSorted() {
		if err := s.restore(set, old); err != nil {
			return symbolError(set.symbol, uint64(set.at), err)
		}
		set.old = nil
	}
	return nil
}

// restore gives each symbol of a set the flags of the entry with its id. Entries with the id 0,
// whose names were not found, must have equal flags.
func (s *Section) restore(x *set, old *btf.Blob) error {
	if len(x.ids) != int(x.n) {
		return fmt.Errorf("the set has %d entries, but symbols for %d of them; "+
			"is the symbol table stripped?", x.n, len(x.ids))
	}
	left := map[key][]id{} // those that have no flags yet, by offset
	for _, y := range x.ids {
		left[key{y.kind, y.name}] = append(left[key{y.kind, y.name}], y)
	}
	var missing []entry // those that were not found
	for _, e := range x.old {
		if e.id == 0 {
			missing = append(missing, e)
			continue
		}
		typ, layer := old.ByID(e.id)
		if typ == nil {
			return wrongBTF(e.id, "no type")
		}
		k := key{typ.Kind, layer.TypeName(typ)}
		list := left[k]
		if len(list) == 0 {
			return wrongBTF(e.id, fmt.Sprintf("%v %q", k.kind, k.name))
		}
		s.put(list[0].at+4, e.flags)
		left[k] = list[1:]
	}
	for _, e := range missing {
		if e.flags != missing[0].flags {
			return fmt.Errorf("entries that were not found have different flags, which can't be " +
				"assigned; use the file as it was before it was resolved")
		}
	}
	for _, list := range left { // as many as are missing
		for _, y := range list {
			s.put(y.at+4, missing[0].flags)
		}
	}
	return nil
}

func wrongBTF(id uint32, what string) error {
	return fmt.Errorf("its id %d is %s in the old BTF, which no symbol of the set names; use the BTF "+
		"and base with which the file was resolved, or the file as it was before that", id, what)
}

// Unresolved returns the section as it was when it was compiled: ids and counts are 0, and flags
// where their functions' symbols are. It is an error if the section needs Restore first.
func (s *Section) Unresolved() ([]byte, error) {
	if err := s.checkRestored(); err != nil {
		return nil, err
	}
	return bytes.Clone(s.data), nil
}
