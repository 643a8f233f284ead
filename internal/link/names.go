package link

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// checkNames refuses types with names that the kernel's verifier doesn't take: those of other
// languages than C, or of damaged files. It is for what was converted; BTF that is merely merged
// keeps its names.
func (l *linker) checkNames() error {
	ok := func(s types.Str) bool { return s == 0 || btf.ValidIdentifier(l.g.Strs.Bytes(s)) }
	for i := range l.puts {
		f := l.puts[i]
		if m := l.madeAt(f); m != nil {
			if (m.kind == types.KindFunc || m.kind == types.KindVar) && !ok(m.name) {
				return l.nameError("function or variable", m.name)
			}
			if m.kind == types.KindDatasec && !btf.ValidSectionName(l.g.Strs.Bytes(m.name)) {
				return fmt.Errorf("section %.100q: the kernel refuses variables of sections whose name is longer than %d bytes or holds control characters; "+
					"leave out the feature global_var", l.g.Strs.String(m.name), btf.MaxNameLen)
			}
			continue
		}
		n := &l.nodes[l.nodeOf(f)]
		switch n.Kind {
		case types.KindStruct, types.KindUnion, types.KindEnum, types.KindEnum64, types.KindFuncProto:
			for _, e := range l.g.ElemsOf(n) {
				if !ok(e.Name) {
					return l.nameError(fmt.Sprintf("a member, enumerator or parameter of %q", l.g.Name(n)), e.Name)
				}
			}
		case types.KindTypedef, types.KindStub:
		default:
			continue
		}
		if !ok(n.Name) {
			return l.nameError("a type", n.Name)
		}
	}
	return nil
}

func (l *linker) nameError(what string, s types.Str) error {
	return fmt.Errorf("%s is named %.100q, which is no identifier of at most %d bytes, and the kernel refuses it; "+
		"leave languages other than C out by --lang-exclude, unless the file is damaged", what, l.g.Strs.String(s), btf.MaxNameLen)
}
