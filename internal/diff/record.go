package diff

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// recordDifference returns how the records of two nodes of one kind and name differ, except in what
// they refer to: where ("member x", or "" for the type itself) and what ("size 4 vs 8").
func (x *explainer) recordDifference(a, b uint32) (where, what string) {
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

// unequal returns "WHAT A vs B", or "" if a and b are equal.
func unequal[T comparable](what string, a, b T) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s %v vs %v", what, a, b)
}

// firstExtra returns the first name of a that b lacks. Names are counted, since they may repeat.
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

// listDifference compares the names of elements: it returns the first one that a side lacks, else
// the first one that is in another order.
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
				fmt.Sprintf("is %s vs %s: another order", orAnon(a[i]), orAnon(b[i]))
		}
	}
	return "", ""
}

func elementName(what, name string) string { return what + " " + orAnon(name) }

// orAnon returns a name for a report.
func orAnon(name string) string {
	if name == "" {
		return "(anon)"
	}
	return clean(name)
}

// members compares the members of structs or unions.
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
	return namesOf(b, ms, func(m btf.Member) uint32 { return m.NameOff })
}

// namesOf returns the names of elements, whose offsets are those that off returns.
func namesOf[T any](b *btf.Blob, elements []T, off func(T) uint32) []string {
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i], _ = b.Name(off(e))
	}
	return out
}

// values compares the enumerators of enums.
func (x *explainer) values(a, b uint32) (where, what string) {
	p, q := x.nodes[a].blob, x.nodes[b].blob
	s, t := x.nodes[a].typ, x.nodes[b].typ
	ea, eb := p.EnumsOf(s), q.EnumsOf(t)
	off := func(e btf.Enumerator) uint32 { return e.NameOff }
	na, nb := namesOf(p, ea, off), namesOf(q, eb, off)
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

// entries compares the variables of DATASECs.
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

// params compares the number and names of parameters.
func (x *explainer) params(a, b uint32) (where, what string) {
	p, q := x.nodes[a].blob, x.nodes[b].blob
	pa, pb := p.ParamsOf(x.nodes[a].typ), q.ParamsOf(x.nodes[b].typ)
	if what = unequal("parameters", len(pa), len(pb)); what != "" {
		return "", what
	}
	off := func(p btf.Param) uint32 { return p.NameOff }
	na, nb := namesOf(p, pa, off), namesOf(q, pb, off)
	for i := range na {
		if na[i] != nb[i] {
			return fmt.Sprintf("parameter %d", i+1),
				fmt.Sprintf("name %s vs %s", orAnon(na[i]), orAnon(nb[i]))
		}
	}
	return "", ""
}
