package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// explanation is the first place at which two types differ.
type explanation struct {
	class       Class // Differs, Forward or Indirect
	where, what string
}

// explainer walks two types of different content side by side, down to types that have a name.
type explainer struct {
	*comparison
	sides  [2]string // the names of the two types in texts
	layout bool      // whether to explain different offsets and sizes by members' types (layout.go)
	seen   map[[2]uint32]bool
	budget int // how many pairs of nodes may still be visited
}

// explain returns the first difference between two types with the same kind and name. It looks
// first for a difference in their own records, then for a type that one side only declares and the
// other defines, and then for a difference in the types that they refer to. The last sort of
// difference is Indirect: the records are equal, and each reference that differs leads to a type
// that has the same kind and name in A and B. But if that name has several definitions, and both A
// and B have all of them, the references lead to different definitions; the class is then Differs.
func (c *comparison) explain(a, b uint32) explanation {
	x := explainer{c, [2]string{"A", "B"}, false, map[[2]uint32]bool{}, maxPairs}
	return x.types(a, b)
}

func (x *explainer) types(a, b uint32) explanation {
	if e, ok := x.inside(a, b, "", [2]uint32{a, b}); ok {
		return e
	}
	return explanation{Differs, "", "the difference is nested too deeply to show"}
}

func better(e, than explanation) bool {
	ranks := []Class{Indirect, Forward, Differs}
	return slices.Index(ranks, e.class) > slices.Index(ranks, than.class)
}

// inside explains how two nodes of one kind differ: in their records, or in their references. The
// parameter where is the path from the compared types to a and b, such as "member bar"; the
// parameter types has the two types at the end of that path, which contain a and b. ok is false if
// everything to which a and b refer has already been visited.
func (x *explainer) inside(a, b uint32, where string, types [2]uint32) (best explanation, ok bool) {
	if x.seen[[2]uint32{a, b}] || x.budget == 0 {
		return explanation{}, false
	}
	x.seen[[2]uint32{a, b}] = true
	x.budget--
	if x.label[a] != x.label[b] {
		if at, what := x.recordDifference(a, b); what != "" {
			if x.layout && x.sameMembers(a, b) {
				if e, ok := x.layoutDifference(a, b, where, types); ok {
					return e, true
				}
			}
			return explanation{Differs, joinPath(where, at), what}, true
		}
	}
	return x.references(a, b, where, types)
}

func (x *explainer) references(
	a, b uint32, where string, types [2]uint32,
) (best explanation, ok bool) {
	ka, kb := x.children(a), x.children(b)
	for i := range min(len(ka), len(kb)) {
		if x.content[ka[i]] == x.content[kb[i]] {
			continue
		}
		if best.class != "" && x.sameName(ka[i], kb[i]) && !x.otherDefinition(ka[i]) {
			continue // that would be Indirect, which is not better
		}
		at, part := types, x.childName(a, i)
		if part != "" || types == [2]uint32{a, b} && !partOfOther(x.kind(a)) {
			at = [2]uint32{ka[i], kb[i]}
		}
		e, found := x.reference(ka[i], kb[i], joinPath(where, part), at, x.kind(a) == btf.KindFunc)
		if found && better(e, best) {
			best, ok = e, true
			if e.class == Differs {
				break
			}
		}
	}
	return best, ok
}

func joinPath(where, part string) string {
	switch {
	case where == "" || part == "":
		return where + part
	case len(where) > 400:
		return where
	}
	if member, ok := strings.CutPrefix(part, "member "); ok {
		return where + "." + member
	}
	return where + ", " + part
}

// partOfOther reports whether types of this kind are spelled out in the types that refer to them.
func partOfOther(k btf.Kind) bool {
	return k == btf.KindPtr || k == btf.KindArray || k == btf.KindFuncProto ||
		k.IsModifier() && k != btf.KindTypedef
}

// reference explains the difference between references to a and b, which have different content.
// The parameters where and types are the same as in inside. If the parameter open is set, reference
// looks inside two types of the same kind even if their records differ.
func (x *explainer) reference(
	a, b uint32, where string, types [2]uint32, open bool,
) (explanation, bool) {
	ka, kb := x.kind(a), x.kind(b)
	if x.sameName(a, b) {
		name := x.spellNamed(a)
		if x.otherDefinition(a) {
			return explanation{Differs, where, "refers to different definitions of " + name}, true
		}
		return explanation{Indirect, where, "refers to " + name + ", which differs"}, true
	}
	if ka == kb && x.nodes[a].name == x.nodes[b].name && a >= firstNode && b >= firstNode {
		// Both are pointers, arrays, anonymous structs …: the difference may be deeper.
		if open || x.label[a] == x.label[b] || ka.IsComposite() || ka.IsEnum() {
			return x.inside(a, b, where, types)
		}
	}
	class := Differs
	if x.nodes[a].name == x.nodes[b].name && x.nodes[a].name != 0 && x.declares(a, b) {
		class = Forward
	}
	sa, sb := x.spell(types[0]), x.spell(types[1])
	if sa == sb {
		sa, sb = x.spell(a), x.spell(b)
	}
	if sa == sb {
		sa, sb = fmt.Sprintf("%v %s", ka, sa), fmt.Sprintf("%v %s", kb, sb)
	}
	return explanation{class, where, "type " + sa + " vs " + sb}, true
}

// declares reports whether one of two nodes with the same name is a declaration of the other.
func (c *comparison) declares(a, b uint32) bool {
	if c.kind(a) != btf.KindFwd {
		a, b = b, a
	}
	return c.kind(a) == btf.KindFwd && c.kind(b).IsComposite() &&
		c.nodes[a].typ.KFlag == (c.kind(b) == btf.KindUnion)
}

// sameName reports whether two nodes have the same kind and the same name, which isn't empty.
func (x *explainer) sameName(a, b uint32) bool {
	k := x.kind(a)
	return k == x.kind(b) && x.nodes[a].name == x.nodes[b].name && x.nodes[a].name != 0 &&
		k != btf.KindTypeTag
}

// otherDefinition reports whether a named type has several definitions, and both sides have the
// same ones. Then two different references to that name lead to two of these definitions.
func (x *explainer) otherDefinition(n uint32) bool {
	g := x.groups[key{kind: x.kind(n), name: x.nodes[n].name}]
	return g != nil && len(g.alone[0])+len(g.alone[1]) == 0 &&
		len(g.own[0])+len(g.own[1])+g.bases > 2
}

// childName names the i-th reference of a node, such as "member x" or "return". It returns "" for
// kinds that have only one reference, such as pointers.
func (x *explainer) childName(n uint32, i int) string {
	kind := x.kind(n)
	word, element := elementWords[kind], i
	switch {
	case kind == btf.KindFuncProto && i == 0:
		return "return"
	case kind == btf.KindFuncProto:
		element--
	case kind == btf.KindArray && i == 1:
		return "index"
	case kind == btf.KindDeclTag:
		return "target"
	case word == "":
		return ""
	}
	name := x.element(n, element)
	if name == "" && kind != btf.KindDatasec {
		return fmt.Sprint(word, " ", i)
	}
	return word + " " + message.Printable(name)
}
