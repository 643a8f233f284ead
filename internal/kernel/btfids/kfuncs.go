package btfids

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
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
// Rule: .BTF_ids: flags of kfuncs, KF_FASTCALL and others. Source: resolve_btfids find_kfunc_flags.
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

// Functions returns the names of the functions that have ids in the section.
func (s *Section) Functions() map[string]bool {
	names := map[string]bool{}
	for i := range s.ids {
		if s.ids[i].kind == btf.KindFunc {
			names[s.ids[i].name] = true
		}
	}
	return names
}

// CheckKfuncs returns the entries of a file's set8s that the kernel refuses to register as kfuncs
// (btf_check_kfunc_protos): those whose id isn't that of a function in b, or for whose name taken
// returns true. The kernel reads as many entries as the set's count says.
// Rule: .BTF_ids: ids that can't be registered as kfuncs. Source: kernel btf_check_kfunc_protos.
func CheckKfuncs(f *elf.File, b *btf.Blob, taken func(name string) bool) ([]Finding, error) {
	s, err := Find(f)
	if s == nil || err != nil {
		return nil, err
	}
	sec, err := find(f)
	if err != nil {
		return nil, err
	}
	has := Section{data: sec.Raw(), order: s.order}
	var list []Finding
	for i := range s.sets {
		x := &s.sets[i]
		if x.entry != set8Entry {
			continue
		}
		count := min(has.word(x.at), x.n)
		for at := x.first(); at < x.first()+count*x.entry; at += x.entry {
			if why := refusedKfunc(b, has.word(at), taken); why != "" {
				list = append(list, Finding{strings.Clone(x.symbol), at, why})
			}
		}
	}
	return list, nil
}

// refusedKfunc says why the kernel doesn't register the type with an id as a kfunc, or returns "".
func refusedKfunc(b *btf.Blob, id uint32, taken func(name string) bool) string {
	t, layer := b.ByID(id)
	if t == nil {
		return fmt.Sprintf("its id %d is not in the BTF, not a function", id)
	}
	name := layer.TypeName(t)
	if t.Kind == btf.KindFunc {
		if proto, _ := b.ByID(t.SizeOrType); proto != nil && proto.Kind == btf.KindFuncProto {
			if taken(name) {
				return fmt.Sprintf("vmlinux also has a function %q", name)
			}
			return ""
		}
	}
	return fmt.Sprintf("its id %d is %v %q, not a function", id, t.Kind, name)
}
