package diff

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// recordDifference returns how the records of two nodes with the same kind and name differ, apart
// from references. The result where says in which part ("member x", or "" for the type itself), and
// the result what says how ("size 4 vs 8").
func (x *explainer) recordDifference(a, b uint32) (where, what string) {
	s, t := x.nodes[a].typ, x.nodes[b].typ
	p, q := x.nodes[a].blob, x.nodes[b].blob
	switch s.Kind {
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64, btf.KindDatasec:
		where, what = x.elementDifference(a, b)
	case btf.KindFuncProto:
		where, what = x.paramDifference(a, b)
	case btf.KindArray:
		what = unequal("elements", p.ArrayOf(s).Nelems, q.ArrayOf(t).Nelems)
	case btf.KindInt:
		what = cmp.Or(unequal("encoding", s.Extra>>24, t.Extra>>24),
			unequal("bits", s.Extra&0xff, t.Extra&0xff),
			unequal("bit offset", s.Extra>>16&0xff, t.Extra>>16&0xff))
	case btf.KindFunc:
		what = unequal("linkage", linkage(s.Vlen), linkage(t.Vlen))
	case btf.KindVar:
		what = unequal("linkage", linkage(s.Extra), linkage(t.Extra))
	case btf.KindDeclTag:
		what = unequal("component", int32(s.Extra), int32(t.Extra))
	case btf.KindFwd:
		what = unequal("declared as", fwdWord(s), fwdWord(t))
	}
	if what == "" {
		where = ""
		what = cmp.Or(unequal("kind flag", s.KFlag, t.KFlag), unequal("encoding word", s.Extra, t.Extra))
	}
	if s.Kind.HasSize() {
		what = withSize(what, s, t)
	}
	return where, what
}

// withSize adds the sizes of two types to the text of a difference, if the sizes differ.
func withSize(what string, s, t *btf.Type) string {
	size := unequal("size", s.SizeOrType, t.SizeOrType)
	if what == "" || size == "" {
		return what + size
	}
	return what + " (" + size + ")"
}

func fwdWord(t *btf.Type) string {
	if t.KFlag {
		return "union"
	}
	return "struct"
}

func linkage(l uint32) string {
	words := map[uint32]string{btf.LinkageStatic: "static", btf.LinkageGlobal: "global",
		btf.LinkageExtern: "extern"}
	return cmp.Or(words[l], fmt.Sprint(l))
}

// unequal returns "WHAT A vs B", or "" if a and b are equal.
func unequal[T comparable](what string, a, b T) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s %v vs %v", what, a, b)
}

// firstExtra returns the first name in the list a that the list b lacks. A name that repeats counts
// as lacking if a has it more often than b.
func firstExtra(a, b []string) (string, bool) {
	count := make(map[string]int, len(b))
	for _, s := range b {
		count[s]++
	}
	for _, s := range a {
		if count[s]--; count[s] < 0 {
			return s, true
		}
	}
	return "", false
}

// listDifference describes the first element name that one side lacks or, if there is no such name,
// the first position at which the names differ.
func (x *explainer) listDifference(what string, a, b []string) (where, diff string) {
	if s, ok := firstExtra(a, b); ok {
		return elementName(what, s), "only in " + x.sides[0]
	}
	if s, ok := firstExtra(b, a); ok {
		return elementName(what, s), "only in " + x.sides[1]
	}
	for i := range a {
		if a[i] != b[i] {
			return fmt.Sprint(what, " ", i),
				fmt.Sprintf("is %s vs %s: the order differs", orAnon(a[i]), orAnon(b[i]))
		}
	}
	return "", ""
}

func elementName(what, name string) string { return what + " " + orAnon(name) }

func orAnon(name string) string { return message.Printable(cmp.Or(name, "(anon)")) }

func (x *explainer) elementDifference(a, b uint32) (where, what string) {
	word, na, nb := elementWords[x.kind(a)], x.elements(a, all), x.elements(b, all)
	if where, what = x.listDifference(word, na, nb); what != "" {
		return where, what
	}
	s, t := x.nodes[a].typ, x.nodes[b].typ
	p, q := x.nodes[a].blob, x.nodes[b].blob
	for i := range na {
		switch s.Kind {
		case btf.KindStruct, btf.KindUnion:
			offA, bitsA := p.MembersOf(s)[i].Bits(s.KFlag)
			offB, bitsB := q.MembersOf(t)[i].Bits(t.KFlag)
			what = cmp.Or(unequal("bit offset", offA, offB), unequal("bitfield size", bitsA, bitsB))
		case btf.KindEnum, btf.KindEnum64:
			if u, v := p.EnumsOf(s)[i].Value, q.EnumsOf(t)[i].Value; u != v {
				what = number(u, s.KFlag) + " vs " + number(v, t.KFlag)
			}
		case btf.KindDatasec:
			u, v := p.SecinfosOf(s)[i], q.SecinfosOf(t)[i]
			what = cmp.Or(unequal("offset", u.Offset, v.Offset), unequal("size", u.Size, v.Size))
		}
		if what != "" {
			return elementName(word, na[i]), what
		}
	}
	return "", ""
}

func number(v uint64, signed bool) string {
	if signed {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

func (x *explainer) paramDifference(a, b uint32) (where, what string) {
	na, nb := x.elements(a, all), x.elements(b, all)
	if what = unequal("parameters", len(na), len(nb)); what != "" {
		return "", what
	}
	for i := range na {
		if na[i] != nb[i] {
			return fmt.Sprintf("parameter %d", i+1), unequal("name", orAnon(na[i]), orAnon(nb[i]))
		}
	}
	return "", ""
}
