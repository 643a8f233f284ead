package needs

import (
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// kptrTags are type tags on pointers in maps. The kernel searches its BTF for the name of the
// struct to which such a pointer leads: see btf_find_kptr and btf_parse_kptr in kernel/bpf/btf.c.
// Linux 5.19 to 6.2 use the tag kptr_ref.
var kptrTags = []string{"kptr", "kptr_untrusted", "percpu_kptr", "kptr_ref"}

// kptrs returns, by the name of a map, the names of the structs to which the map has kptrs. Structs
// that the programs allocate themselves (bpf_obj_new) are left out.
// Rule: kptrs in maps. Source: kernel btf_find_kptr, btf_parse_kptr.
func kptrs(b builder, o *bpfobj.Object) map[string][]string {
	own := map[string]bool{}
	for _, f := range o.Functions {
		for _, r := range f.Relocations {
			if r.Kind == core.TypeIDLocal {
				_, t, _ := b.Skip(r.Type)
				own[b.TypeName(t)] = true
			}
		}
	}
	all := map[string][]string{}
	for name, values := range o.Values {
		found, seen := map[string]bool{}, map[uint32]bool{}
		for _, id := range values {
			b.findKptrs(id, found, seen)
		}
		maps.DeleteFunc(found, func(name string, _ bool) bool { return own[name] })
		if len(found) > 0 {
			all[name] = slices.Sorted(maps.Keys(found))
		}
	}
	return all
}

// findKptrs looks for kptrs in a type, its members and elements.
func (b builder) findKptrs(id uint32, found map[string]bool, seen map[uint32]bool) {
	for todo := []uint32{id}; len(todo) > 0; {
		id, t, of := b.Skip(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if t == nil || seen[id] {
			continue
		}
		seen[id] = true
		switch t.Kind {
		case btf.KindStruct:
			for _, m := range of.MembersOf(t) {
				todo = append(todo, m.Type)
			}
		case btf.KindArray:
			todo = append(todo, of.ArrayOf(t).Elem)
		case btf.KindPtr:
			tag, _ := b.ByID(t.SizeOrType)
			if tag == nil || tag.Kind != btf.KindTypeTag || tag.KFlag ||
				!slices.Contains(kptrTags, b.TypeName(tag)) {
				continue
			}
			if _, to, _ := b.Skip(tag.SizeOrType); to != nil && to.Kind == btf.KindStruct {
				found[b.TypeName(to)] = true
			}
		}
	}
}
