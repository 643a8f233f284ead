package write

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

type strings struct {
	list   []types.Str // sorted
	offset []uint32    // by string: in the bases, or in the result
	length int         // of the result's own strings, in bytes
}

// findStrings lists the strings that the kept types need, sorted.
// Rule: strings of the BTF, and their offsets. Source: libbpf btf_dedup_strings.
func (w *writer) findStrings() {
	list := make([]types.Str, 0, len(w.places.uses))
	for s, use := range w.places.uses {
		if use != 0 && s != 0 {
			list = append(list, types.Str(s))
		}
	}
	w.shapes.Graph.Strs.Sort(list, func(parts int, do func(int)) {
		parallel.Do(w.opt.Jobs, parts, do)
	})
	w.strings.list = list
}

// measureStrings looks up the names of a run in the bases, and adds up the length of the others.
func (w *writer) measureStrings(r *run) {
	for _, str := range r.names {
		name := w.shapes.Graph.Strs.Bytes(str)
		if w.types.Base != nil {
			if w.strings.offset[str] = w.types.Base.String(name); w.strings.offset[str] != 0 {
				continue
			}
		}
		r.own += uint64(len(name)) + 1
	}
}

// putStrings gives the other names of a run their places among the blob's own strings, which are
// sorted, and copies them there. It reports whether the kernel accepts all names of the run.
func (w *writer) putStrings(own []byte, r *run) bool {
	ok, end := true, r.str-uint64(w.blob.BaseStrLen)
	for _, s := range r.names {
		name := w.shapes.Graph.Strs.Bytes(s)
		if at := &w.strings.offset[s]; *at == 0 {
			*at = w.blob.BaseStrLen + uint32(end)
			end += uint64(copy(own[end:], name)) + 1
		}
		use := w.places.uses[s]
		ok = ok && (use&usedAsIdentifier == 0 || len(name) == 0 || btf.ValidIdentifier(name)) &&
			(use&usedAsSection == 0 || btf.ValidSectionName(name))
	}
	return ok
}

// checkNames returns an error if the kernel's verifier doesn't accept the name of a type. Such
// names come from languages other than C or from damaged files. Names are checked only in links
// with facts: BTF that is only merged keeps its names.
// Rule: names that the kernel refuses. When BTF is linked.
func (w *writer) checkNames() error {
	ok := func(s types.Str) bool { return s == 0 || btf.ValidIdentifier(w.shapes.Graph.Strs.Bytes(s)) }
	for k := range w.inOrder {
		n, elems := w.node(k)
		what := "a type"
		switch n.Kind {
		case types.KindStruct, types.KindUnion, types.KindEnum, types.KindEnum64, types.KindFuncProto:
			for _, e := range elems {
				if !ok(e.Name) {
					return w.nameError(fmt.Sprintf("a member, enumerator or parameter of %q",
						w.shapes.Graph.Strs.String(n.Name)), e.Name)
				}
			}
		case types.KindTypedef, types.KindStub:
		case types.KindFunc, types.KindVar:
			what = "a function or variable"
		case types.KindDatasec:
			if !btf.ValidSectionName(w.shapes.Graph.Strs.Bytes(n.Name)) {
				return fmt.Errorf("section %.100q: the kernel refuses variables of sections whose "+
					"name is longer than %d bytes or contains control characters; leave out the feature "+
					"global_var", w.shapes.Graph.Strs.String(n.Name), btf.MaxNameLen)
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
	return fmt.Errorf("%s is named %.100q, which is not an identifier of at most %d bytes, so the "+
		"kernel refuses it; leave out languages other than C with --lang-exclude, unless the file is "+
		"damaged", what, w.shapes.Graph.Strs.String(s), btf.MaxNameLen)
}
