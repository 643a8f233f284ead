package bpftest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// composite returns the definition of a local version of a struct or union. If exact is set and
// there are at most 40 members, the definition has all of them in order; otherwise, it has some of
// them, shuffled.
func (r *Random) composite(t *btf.Type, of *btf.Blob, name string, depth int,
	exact bool) (string, *node) {
	list := slices.Clone(of.MembersOf(t))
	exact = exact && len(list) <= 40
	if !exact {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(len(list), 1+r.IntN(8))]
	}
	keyword := "struct"
	if (t.Kind == btf.KindUnion) != (!exact && r.chance(5)) {
		keyword = "union"
	}
	root := &node{kind: t.Kind}
	var texts []string
	for _, m := range list {
		text := r.member(t, m, depth, exact, root)
		texts = append(texts, text)
	}
	if len(texts) == 0 { // clang crashes on empty structs
		texts = []string{"char none; "}
	}
	if n := len(root.fields); n > 0 {
		if last := root.fields[n-1].node; last.kind == btf.KindArray && last.nelems == 0 &&
			!strings.HasPrefix(texts[len(texts)-1], "@") {
			last.flex = true
		}
	}
	if !exact && len(texts) > 1 && r.chance(20) {
		// Two members move into an anonymous struct or union.
		at := r.IntN(len(texts) - 1)
		texts[at] = []string{"struct", "union"}[r.IntN(2)] + " { " + texts[at] + texts[at+1] + "} P; "
		texts = slices.Delete(texts, at+1, at+2)
		for _, f := range root.fields {
			f.flex = false
		}
	}
	body := strings.ReplaceAll(strings.Join(texts, ""), "@", "")
	return fmt.Sprintf("%s %s { %s} P", keyword, name, body), root
}

// member returns the declaration of a member, and adds to parent the fields by which a program can
// name this member.
func (r *Random) member(t *btf.Type, m btf.Member, depth int, exact bool, parent *node) string {
	name, _ := r.kernel.Name(m.NameOff)
	_, bits := m.Bits(t.KFlag)
	if name == "" {
		_, inner, of := r.kernel.Skip(m.Type)
		if inner == nil || !inner.Kind.IsComposite() {
			return ""
		}
		text, n := r.composite(inner, of, "", depth, exact)
		parent.fields = append(parent.fields, n.fields...)
		return "@" + text + "; "
	}
	if !isIdentifier(name) {
		return ""
	}
	if !exact && r.chance(6) {
		name += "_gone"
	}
	if bits > 0 || !exact && r.chance(3) {
		if !exact && r.chance(15) {
			bits = 0
		} else if bits == 0 {
			bits = uint32(1 + r.IntN(8))
		}
	}
	_, mt, _ := r.kernel.Skip(m.Type)
	if bits > 0 && (mt == nil || mt.Kind != btf.KindInt && !mt.Kind.IsEnum() || bits > 64) {
		bits = 0
	}
	if bits > 0 {
		base := "int"
		if mt.Kind == btf.KindInt {
			base = r.integer(mt, true)
		}
		if bits > mt.SizeOrType*8 || base == "_Bool" && bits > 1 || base == "int" && bits > 32 {
			base = "long"
		}
		parent.fields = append(parent.fields, field{name, true, &node{kind: btf.KindInt}})
		return fmt.Sprintf("%s %s:%d; ", base, name, bits)
	}
	text, n := r.declare(m.Type, name, depth, exact)
	parent.fields = append(parent.fields, field{name, false, n})
	return text + "; "
}
