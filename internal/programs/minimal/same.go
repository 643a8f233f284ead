package minimal

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// question is a relocation, and its answer in the whole BTF.
type question struct {
	spec   *core.Spec
	memory uint8
	answer core.Answer
	kept   bool // keepMore has kept all candidates
}

// keepMore keeps all candidates of the relocations whose answer differs in the minimal BTF, and
// reports whether this is more than before. A relocation that doesn't match a whole type may match
// what is left of the type if other relocations keep a part of it. For example, if only the size of
// a typedef of a pointer is needed, it becomes a typedef of a void pointer; and an array of no
// elements in the middle of a struct becomes a flexible array if no member after it is kept. If the
// parameter all is set, keepMore keeps all candidates of all relocations.
// Rule: minimal BTF: what it keeps. More, so that each relocation has the same result.
func (b *build) keepMore(k, small *core.Index, all bool) (more bool, err error) {
	for _, q := range b.asked {
		got := small.Resolve(q.spec, q.memory)
		if (!all || q.kept) && same(q.spec.Kind, q.answer, got) {
			continue
		}
		if q.kept && b.opt.Flat && len(k.Modules) > 0 {
			return false, fmt.Errorf("minimal BTF: %v %s resolves to a different type than in the full "+
				"BTF; if a module has another type with the same name, keep the modules' types out of "+
				"the vmlinux BTF", q.spec.Kind, q.spec)
		}
		if q.kept {
			continue // for example, a forward declaration that now has only one definition
		}
		q.kept, more = true, true
		for _, c := range k.Candidates(q.spec) {
			b.of[c.BTF].whole(c.ID)
		}
	}
	return more, nil
}

// same reports whether two answers have the same effect on a program, apart from ids of types. A
// relocation that is refused in the whole BTF may have any answer.
func same(kind core.Kind, whole, small core.Answer) bool {
	if whole.Refused != nil {
		return true
	}
	if kind == core.TypeIDTarget {
		return (len(whole.Matches) > 0) == (len(small.Matches) > 0)
	}
	return small.Refused == nil && whole.Poison == small.Poison && whole.Value == small.Value &&
		whole.Size == small.Size
}
