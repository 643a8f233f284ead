package diff

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// ownDifference says how two nodes of one kind and name differ in their own records, references
// apart: where ("member x", or "" for the type itself) and what.
func (x *explainer) ownDifference(a, b uint32) (where, what string) {
	s, t := x.nodes[a].typ, x.nodes[b].typ
	p, q := x.nodes[a].blob, x.nodes[b].blob
	switch s.Kind {
	case btf.KindStruct, btf.KindUnion:
		where, what = x.members(a, b)
	case btf.KindEnum, btf.KindEnum64:
		where, what = x.values(a, b)
	case btf.KindDatasec:
		where, what = x.entries(a, b)
	case btf.KindFuncProto:
		where, what = x.params(a, b)
	case btf.KindArray:
		what = unequal("elements", p.ArrayOf(s).Nelems, q.ArrayOf(t).Nelems)
	case btf.KindInt:
		what = unequal("encoding", s.Extra>>24, t.Extra>>24)
		if what == "" {
			what = unequal("bits", s.Extra&0xff, t.Extra&0xff)
		}
		if what == "" {
			what = unequal("bit offset", s.Extra>>16&0xff, t.Extra>>16&0xff)
		}
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
		switch {
		case s.KFlag != t.KFlag:
			what = unequal("kind flag", s.KFlag, t.KFlag)
		case s.Extra != t.Extra:
			what = unequal("encoding word", s.Extra, t.Extra)
		}
	}
	if s.Kind.HasSize() && s.SizeOrType != t.SizeOrType {
		size := unequal("size", s.SizeOrType, t.SizeOrType)
		if what == "" {
			return "", size
		}
		what += " (" + size + ")"
	}
	return where, what
}

func fwdWord(t *btf.Type) string {
	if t.KFlag {
		return "union"
	}
	return "struct"
}

func linkage(l uint32) string {
	switch l {
	case btf.LinkageStatic:
		return "static"
	case btf.LinkageGlobal:
		return "global"
	case btf.LinkageExtern:
		return "extern"
	}
	return fmt.Sprint(l)
}

func unequal[T comparable](what string, a, b T) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s %v vs %v", what, a, b)
}

// firstExtra is the first name of one list that the other lacks. The lists may be long; names are
// counted, as anonymous members and macros repeat.
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

// listDifference compares the names of elements: what one side lacks, or the order.
func (x *explainer) listDifference(what string, a, b []string) (where, diff string) {
	if s, ok := firstExtra(a, b); ok {
		return elementName(what, s), "only in " + x.sides[0]
	}
	if s, ok := firstExtra(b, a); ok {
		return elementName(what, s), "only in " + x.sides[1]
	}
	for i := range a {
		if a[i] != b[i] {
			return what + " " + fmt.Sprint(i), fmt.Sprintf("is %s vs %s: another order", label(a[i]),
				label(b[i]))
		}
	}
	return "", ""
}

func elementName(what, name string) string { return what + " " + label(name) }

func label(name string) string {
	if name == "" {
		return "(anon)"
	}
	return clean(name)
}

func (x *explainer) members(a, b uint32) (where, what string) {
	p, s := x.nodes[a].blob, x.nodes[a].typ
	q, t := x.nodes[b].blob, x.nodes[b].typ
	ma, mb := p.MembersOf(s), q.MembersOf(t)
	if where, what = x.listDifference("member", memberNames(p, ma), memberNames(q, mb)); what != "" {
		return where, what
	}
	for i := range ma {
		offA, bitsA := ma[i].Bits(s.KFlag)
		offB, bitsB := mb[i].Bits(t.KFlag)
		what = unequal("bit offset", offA, offB)
		if what == "" {
			what = unequal("bitfield size", bitsA, bitsB)
		}
		if what != "" {
			name, _ := p.Name(ma[i].NameOff)
			return elementName("member", name), what
		}
	}
	return "", ""
}

func memberNames(b *btf.Blob, ms []btf.Member) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i], _ = b.Name(m.NameOff)
	}
	return out
}

func (x *explainer) values(a, b uint32) (where, what string) {
	p, q := x.nodes[a].blob, x.nodes[b].blob
	s, t := x.nodes[a].typ, x.nodes[b].typ
	ea, eb := p.EnumsOf(s), q.EnumsOf(t)
	names := func(b *btf.Blob, es []btf.Enumerator) []string {
		out := make([]string, len(es))
		for i, e := range es {
			out[i], _ = b.Name(e.NameOff)
		}
		return out
	}
	na, nb := names(p, ea), names(q, eb)
	if where, what = x.listDifference("value", na, nb); what != "" {
		return where, what
	}
	for i := range ea {
		if ea[i].Value != eb[i].Value {
			return elementName("value", na[i]), fmt.Sprintf("%s vs %s", number(ea[i].Value, s.KFlag),
				number(eb[i].Value, t.KFlag))
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

func (x *explainer) entries(a, b uint32) (where, what string) {
	names := func(n uint32) []string {
		kids := x.children(n)
		out := make([]string, len(kids))
		for i, k := range kids {
			out[i] = x.name(k)
		}
		return out
	}
	na, nb := names(a), names(b)
	if where, what = x.listDifference("entry", na, nb); what != "" {
		return where, what
	}
	ea, eb := x.nodes[a].blob.SecinfosOf(x.nodes[a].typ), x.nodes[b].blob.SecinfosOf(x.nodes[b].typ)
	for i := range ea {
		what = unequal("offset", ea[i].Offset, eb[i].Offset)
		if what == "" {
			what = unequal("size", ea[i].Size, eb[i].Size)
		}
		if what != "" {
			return elementName("entry", na[i]), what
		}
	}
	return "", ""
}

func (x *explainer) params(a, b uint32) (where, what string) {
	p, q := x.nodes[a].blob, x.nodes[b].blob
	pa, pb := p.ParamsOf(x.nodes[a].typ), q.ParamsOf(x.nodes[b].typ)
	if what = unequal("parameters", len(pa), len(pb)); what != "" {
		return "", what
	}
	for i := range pa {
		na, _ := p.Name(pa[i].NameOff)
		nb, _ := q.Name(pb[i].NameOff)
		if na != nb {
			return fmt.Sprintf("parameter %d", i+1), fmt.Sprintf("name %s vs %s", label(na), label(nb))
		}
	}
	return "", ""
}
