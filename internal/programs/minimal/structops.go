package minimal

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

// structOps keeps the kernel's types for a struct_ops map: its struct, the struct that holds this
// struct (core.StructOps), and the types of the members that the program declares or the map sets,
// with the prototypes of functions.
func (b *build) structOps(k *core.Index, n *needs.Needs, s needs.Symbol) {
	ops, err := k.StructOps(s.BTFName())
	if err != nil {
		for _, name := range []string{s.BTFName(), core.StructOpsValue(s.BTFName())} {
			for _, c := range k.Find(name, s.Kind.BTFKind()) {
				b.of[c.BTF].deep(c.ID)
			}
		}
		return
	}
	marks := b.of[ops.BTF]
	marks.member(ops.Value, ops.Data)
	marks.deep(ops.ID)
	var names []string
	if _, name, ok := strings.Cut(s.Name, "."); ok {
		names = append(names, name)
	} else if t, of := n.Local.ByID(s.Type); t != nil && t.Kind == s.Kind.BTFKind() {
		for _, m := range of.MembersOf(t) {
			name, _ := n.Local.Name(m.NameOff)
			names = append(names, name)
		}
	}
	for _, name := range names {
		if m, index, found := ops.Member(name); found {
			marks.member(ops.ID, index)
			marks.deep(m.Type)
		}
	}
}
