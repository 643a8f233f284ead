package write

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// checkNames refuses types with names that the kernel's verifier doesn't take: those of other
// languages than C, or of damaged files. It is for what was converted; BTF that is merely merged
// keeps its names.
func (w *writer) checkNames() error {
	ok := func(s types.Str) bool { return s == 0 || btf.ValidIdentifier(w.Graph.Strs.Bytes(s)) }
	for _, k := range w.list {
		n, elems := w.node(k)
		what := "a type"
		switch n.Kind {
		case types.KindStruct, types.KindUnion, types.KindEnum, types.KindEnum64, types.KindFuncProto:
			for _, e := range elems {
				if !ok(e.Name) {
					return w.nameError(fmt.Sprintf("a member, enumerator or parameter of %q",
						w.Graph.Name(n)), e.Name)
				}
			}
		case types.KindTypedef, types.KindStub:
		case types.KindFunc, types.KindVar:
			what = "function or variable"
		case types.KindDatasec:
			if !btf.ValidSectionName(w.Graph.Strs.Bytes(n.Name)) {
				return fmt.Errorf("section %.100q: the kernel refuses variables of sections whose "+
					"name is longer than %d bytes or holds control characters; leave out the feature "+
					"global_var", w.Graph.Name(n), btf.MaxNameLen)
			}
			continue
		default:
			continue
		}
		if !ok(n.Name) {
			return w.nameError(what, n.Name)
		}
	}
	return nil
}

func (w *writer) nameError(what string, s types.Str) error {
	return fmt.Errorf("%s is named %.100q, which is no identifier of at most %d bytes, and the "+
		"kernel refuses it; leave languages other than C out by --lang-exclude, unless the file is "+
		"damaged", what, w.Graph.Strs.String(s), btf.MaxNameLen)
}
