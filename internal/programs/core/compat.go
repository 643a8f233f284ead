package core

import (
	"errors"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// fieldsCompatible reports whether a program may read a field that has the type t in the kernel as
// if it had the local type l: see bpf_core_fields_are_compat.
// Rule: CO-RE: compatible types of fields. Source: relo_core.c bpf_core_fields_are_compat.
func fieldsCompatible(local *BTF, l uint32, target *BTF, t uint32) bool {
	for range maxDepth {
		_, lt, lof := local.Skip(l)
		_, tt, tof := target.Skip(t)
		lk, tk := kindOf(lt), kindOf(tt)
		if lk.IsComposite() && tk.IsComposite() {
			return true
		}
		if !compatible(lk, tk) {
			return false
		}
		switch {
		case lk == btf.KindPtr, lk == btf.KindFloat:
			return true
		case lk == btf.KindFwd, lk.IsEnum():
			ln, tn := Essential(local.TypeName(lt)), Essential(target.TypeName(tt))
			return ln == "" || tn == "" || ln == tn
		case lk == btf.KindInt:
			return intOffset(lt) == 0 && intOffset(tt) == 0
		case lk != btf.KindArray:
			return false
		}
		l, t = lof.ArrayOf(lt).Elem, tof.ArrayOf(tt).Elem
	}
	return false
}

// intOffset is the bit offset of an INT. Compilers used it for bitfields, but no longer do.
func intOffset(t *btf.Type) uint32 { return t.Extra >> 16 & 0xff }

// matcher compares the local types with the types in the BTF of a candidate.
type matcher struct {
	kernel        *Index
	local, target *BTF
	*budget
}

// pair is a comparison of two types. Several relocations may need the same comparison.
type pair struct {
	local, target place
	how           comparison
	level         int
}

type comparison uint8

const (
	compatibly comparison = iota
	byContent
	byName
)

// compareOnce compares two types. If they have already been compared, it returns the earlier
// result.
func (m *matcher) compareOnce(p pair, compare func() (bool, error)) (bool, error) {
	k := m.kernel
	ok, known := k.matches[p]
	if known {
		return ok, nil
	}
	k.work++
	ok, err := compare()
	if err != nil {
		return false, err
	}
	if k.matches == nil {
		k.matches = map[pair]bool{}
	}
	k.matches[p] = ok
	return ok, nil
}

func (m *matcher) pair(l, t uint32, how comparison, level int) pair {
	return pair{place{m.local, l}, place{m.target, t}, how, level}
}

// budget limits the work for one relocation. In libbpf, this work can be exponential.
type budget int

// maxWork is ten times the work of comparing the largest struct of a kernel with itself.
const maxWork = 1 << 19

var errWork = errors.New("comparing the types takes too long")

func (b *budget) spend(n int) error {
	if *b -= budget(n); *b < 0 {
		return errWork
	}
	return nil
}

// typesCompatible reports whether two types of the same name count as the same type for relocations
// about whole types: see bpf_core_types_are_compat. The types' members don't matter.
// Rule: CO-RE: compatible types. Source: relo_core.c __bpf_core_types_are_compat.
func (m *matcher) typesCompatible(l, t uint32, level int) (bool, error) {
	local, target := m.local, m.target
	lt, _ := local.ByID(l)
	tt, _ := target.ByID(t)
	if !compatible(kindOf(lt), kindOf(tt)) {
		return false, nil
	}
	for range maxDepth {
		if err := m.spend(1); err != nil {
			return false, err
		}
		lid, lt, lof := local.Skip(l)
		tid, tt, tof := target.Skip(t)
		if !compatible(kindOf(lt), kindOf(tt)) {
			return false, nil
		}
		switch kindOf(lt) {
		case btf.KindVoid, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindFwd, btf.KindEnum64:
			return true, nil
		case btf.KindInt:
			return intOffset(lt) == 0 && intOffset(tt) == 0, nil
		case btf.KindPtr:
			l, t = lt.SizeOrType, tt.SizeOrType
		case btf.KindArray:
			l, t = lof.ArrayOf(lt).Elem, tof.ArrayOf(tt).Elem
		case btf.KindFuncProto:
			if ok, err := m.compareOnce(m.pair(lid, tid, compatibly, level), func() (bool, error) {
				return eachParam(lt, lof, tt, tof, func(l, t uint32) (bool, error) {
					if level <= 0 {
						return false, errDepth
					}
					l, _, _ = local.Skip(l)
					t, _, _ = target.Skip(t)
					return m.typesCompatible(l, t, level-1)
				})
			}); !ok {
				return false, err
			}
			l, t = lt.SizeOrType, tt.SizeOrType
		default:
			return false, nil
		}
	}
	return false, errDepth
}

// eachParam reports whether two prototypes have the same number of parameters, and whether the
// function compare returns true for each pair of parameters.
func eachParam(lt *btf.Type, lof *btf.Blob, tt *btf.Type, tof *btf.Blob,
	compare func(l, t uint32) (bool, error)) (bool, error) {
	if lt.Vlen != tt.Vlen {
		return false, nil
	}
	targets := tof.ParamsOf(tt)
	for i, p := range lof.ParamsOf(lt) {
		if ok, err := compare(p.Type, targets[i].Type); !ok {
			return false, err
		}
	}
	return true, nil
}

// namesMatch reports whether two names are the same without flavors: bpf_core_names_match.
func namesMatch(l, t string) bool {
	if t == "" {
		return l == ""
	}
	return Essential(l) == Essential(t)
}

// typesMatch reports whether the target type has everything that the local type has: see
// __bpf_core_types_match. The parameter pointed says that a pointer led to the types; in that case,
// structs match if their names match.
// Rule: CO-RE: types that match. Source: relo_core.c __bpf_core_types_match.
func (m *matcher) typesMatch(l, t uint32, pointed bool, level int) (bool, error) {
	if level <= 0 {
		return false, errDepth
	}
	for range maxDepth {
		if err := m.spend(1); err != nil {
			return false, err
		}
		lid, lt, lof := m.local.Skip(l)
		tid, tt, tof := m.target.Skip(t)
		if !namesMatch(m.local.TypeName(lt), m.target.TypeName(tt)) {
			return false, nil
		}
		lk, tk := kindOf(lt), kindOf(tt)
		switch {
		case lk == btf.KindFwd:
			if pointed && tk.IsComposite() {
				return (tk == btf.KindUnion) == lt.KFlag, nil
			}
			return lk == tk && lt.KFlag == tt.KFlag, nil
		case lk.IsEnum():
			return tk.IsEnum() && m.enumsMatch(lt, lof, tid, tt, tof), nil
		case lk.IsComposite():
			if pointed && tk == btf.KindFwd {
				return (lk == btf.KindUnion) == tt.KFlag, nil
			}
			if lk != tk || pointed {
				return lk == tk, nil
			}
			return m.compareOnce(m.pair(lid, tid, byContent, level), func() (bool, error) {
				return m.membersMatch(lt, lof, tid, level)
			})
		case lk != tk:
			return false, nil
		}
		switch lk {
		case btf.KindVoid:
			return true, nil
		case btf.KindInt:
			return lt.SizeOrType == tt.SizeOrType &&
				lt.Extra>>24&btf.IntSigned == tt.Extra>>24&btf.IntSigned, nil
		case btf.KindPtr:
			pointed = true
			l, t = lt.SizeOrType, tt.SizeOrType
		case btf.KindArray:
			la, ta := lof.ArrayOf(lt), tof.ArrayOf(tt)
			if la.Nelems != ta.Nelems {
				return false, nil
			}
			l, t = la.Elem, ta.Elem
		case btf.KindFuncProto:
			how := byContent
			if pointed {
				how = byName
			}
			if ok, err := m.compareOnce(m.pair(lid, tid, how, level), func() (bool, error) {
				return eachParam(lt, lof, tt, tof, func(l, t uint32) (bool, error) {
					return m.typesMatch(l, t, pointed, level-1)
				})
			}); !ok {
				return false, err
			}
			l, t = lt.SizeOrType, tt.SizeOrType
		default:
			return false, nil
		}
	}
	return false, errDepth
}

// membersMatch is bpf_core_composites_match.
func (m *matcher) membersMatch(lt *btf.Type, lof *btf.Blob, target uint32, level int) (bool,
	error) {
	tt, tof := m.target.ByID(target)
	if lt.Vlen > tt.Vlen {
		return false, nil
	}
	members := m.kernel.elementsOf(m.target, target, tt, tof)
	for _, l := range lof.MembersOf(lt) {
		name, _ := m.local.Name(l.NameOff)
		found := false
		for _, i := range members[Essential(name)] {
			if err := m.spend(1); err != nil {
				return false, err
			}
			ok, err := m.typesMatch(l.Type, tof.MembersOf(tt)[i].Type, false, level-1)
			if err != nil {
				return false, err
			}
			if found = ok; found {
				break
			}
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

// enumsMatch is bpf_core_enums_match.
func (m *matcher) enumsMatch(lt *btf.Type, lof *btf.Blob, target uint32, tt *btf.Type,
	tof *btf.Blob) bool {
	if lt.SizeOrType != tt.SizeOrType || lt.Vlen > tt.Vlen {
		return false
	}
	have := m.kernel.elementsOf(m.target, target, tt, tof)
	for _, e := range lof.EnumsOf(lt) {
		if name, _ := m.local.Name(e.NameOff); have[Essential(name)] == nil {
			return false
		}
	}
	return true
}

// Compatible reports whether a program that declares a function or variable with the local type l
// may use a kernel's function or variable of type t: see bpf_core_types_are_compat.
func (k *Index) Compatible(local *BTF, l uint32, target *BTF, t uint32) bool {
	work := budget(maxWork)
	m := matcher{k, local, target, &work}
	ok, err := m.typesCompatible(l, t, maxDepth)
	return ok && err == nil
}
