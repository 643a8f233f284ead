package bpftest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// declare returns the declaration of a local version of a type. Unless exact is set, it may declare
// a different type instead.
func (r *Random) declare(id uint32, name string, depth int, exact bool) (string, *node) {
	_, t, of := r.kernel.Skip(id)
	if !exact && r.chance(7) {
		return r.other(name)
	}
	if t == nil {
		return "void *" + name, &node{kind: btf.KindPtr}
	}
	switch t.Kind {
	case btf.KindInt:
		return r.integer(t, exact) + " " + name, &node{kind: btf.KindInt}
	case btf.KindFloat:
		return map[bool]string{true: "double ", false: "float "}[t.SizeOrType == 8] + name,
			&node{kind: btf.KindFloat}
	case btf.KindPtr:
		return r.pointer(t.SizeOrType, name, exact), &node{kind: btf.KindPtr}
	case btf.KindArray:
		a := of.ArrayOf(t)
		n := int(min(a.Nelems, 1<<16))
		if !exact && r.chance(30) {
			n = []int{n + 1, max(n-1, 0), 2 * n, 1}[r.IntN(4)]
		}
		text, elem := r.declare(a.Elem, fmt.Sprintf("%s[%d]", name, n), depth, exact)
		return text, &node{kind: btf.KindArray, elem: elem, nelems: n}
	case btf.KindStruct, btf.KindUnion:
		if depth == 0 {
			return "struct { char none; } " + name, &node{kind: btf.KindStruct}
		}
		flavored := ""
		if n := r.kernel.TypeName(t); isIdentifier(n) {
			flavored = fmt.Sprintf("%s___f%d", n, r.next())
		} else if strings.Contains(name, "][") {
			flavored = fmt.Sprintf("named%d", r.next()) // clang's accesses begin at elements of such arrays
		}
		text, root := r.composite(t, of, flavored, depth-1, exact)
		return text + " " + name, root
	case btf.KindEnum, btf.KindEnum64:
		text, _ := r.enum(t, of, exact)
		if n := r.kernel.TypeName(t); isIdentifier(n) {
			text = strings.Replace(text, "enum", fmt.Sprintf("enum %s___f%d", n, r.next()), 1)
		}
		return text + " " + name, &node{kind: btf.KindEnum}
	}
	return "int " + name, &node{kind: btf.KindInt}
}

// other returns a declaration with a random type.
func (r *Random) other(name string) (string, *node) {
	switch r.IntN(6) {
	case 0:
		return "void *" + name, &node{kind: btf.KindPtr}
	case 1:
		return "double " + name, &node{kind: btf.KindFloat}
	case 2:
		return fmt.Sprintf("enum { other%d } %s", r.next(), name), &node{kind: btf.KindEnum}
	case 3:
		inner := &node{kind: btf.KindStruct}
		inner.fields = []field{{"other", false, &node{kind: btf.KindInt}}}
		return fmt.Sprintf("struct other%d { int other; } P %s", r.next(), name), inner
	}
	return integers[r.IntN(len(integers))] + " " + name, &node{kind: btf.KindInt}
}

var integers = []string{"char", "signed char", "unsigned char", "short", "unsigned short", "int",
	"unsigned", "long", "unsigned long", "_Bool"}

func (r *Random) integer(t *btf.Type, exact bool) string {
	if !exact && r.chance(20) {
		return integers[r.IntN(len(integers))]
	}
	signed := t.Extra>>24&btf.IntSigned != 0
	switch {
	case t.Extra>>24&btf.IntBool != 0:
		return "_Bool"
	case t.SizeOrType == 1 && signed:
		return "signed char"
	case t.SizeOrType == 1:
		return "unsigned char"
	}
	text := map[uint32]string{2: "short", 4: "int", 8: "long", 16: "__int128"}[t.SizeOrType]
	if !signed {
		text = "unsigned " + text
	}
	return text
}

// pointer returns the declaration of a pointer.
func (r *Random) pointer(to uint32, name string, exact bool) string {
	if !exact && r.chance(10) {
		return "char **" + name
	}
	_, t, of := r.kernel.Skip(to)
	if t == nil {
		return "void *" + name
	}
	if t.Kind == btf.KindFuncProto {
		var params []string
		for _, p := range of.ParamsOf(t) {
			text, ok := r.simple(p.Type)
			if !ok {
				return "void *" + name
			}
			params = append(params, text)
		}
		result, ok := r.simple(t.SizeOrType)
		if !ok {
			return "void *" + name
		}
		if params == nil {
			params = []string{"void"}
		}
		if n := len(params); n > 1 && params[n-1] == "void " {
			params[n-1] = "..."
		}
		return fmt.Sprintf("%s(*%s)(%s)", result, name, strings.Join(params, ", "))
	}
	text, ok := r.simple(to)
	if !ok {
		text = "void "
	}
	return text + "*" + name
}

// simple returns a type that needs no definition.
func (r *Random) simple(id uint32) (text string, ok bool) {
	_, t, _ := r.kernel.Skip(id)
	if t == nil {
		return "void ", true
	}
	switch {
	case t.Kind == btf.KindInt:
		return r.integer(t, true) + " ", true
	case t.Kind == btf.KindPtr:
		to, ok := r.simple(t.SizeOrType)
		return to + "*", ok
	case t.Kind.IsComposite() || t.Kind == btf.KindFwd:
		n := r.kernel.TypeName(t)
		keyword := "struct "
		if t.Kind == btf.KindUnion || t.Kind == btf.KindFwd && t.KFlag {
			keyword = "union "
		}
		n = fmt.Sprintf("%s___g%d", n, r.next())
		r.definition("%s%s;", keyword, n)
		return keyword + n + " ", isIdentifier(n) && r.kernel.TypeName(t) != ""
	}
	return "", false
}

// enum returns the definition of an enum without a name, and the names of its values.
func (r *Random) enum(t *btf.Type, of *btf.Blob, exact bool) (text string, values []string) {
	suffix := fmt.Sprintf("___e%d", r.next())
	list := of.EnumsOf(t)
	if len(list) > 8 {
		start := r.IntN(len(list) - 7)
		list = list[start : start+8]
	}
	for i, e := range list {
		name, _ := r.kernel.Name(e.NameOff)
		if !exact && r.chance(20) {
			name += "_gone"
		}
		if !isIdentifier(name) {
			name = "odd"
		}
		name = fmt.Sprintf("%s%s", name, suffix)
		if slices.Contains(values, name) {
			continue
		}
		values = append(values, name)
		value := fmt.Sprintf(" = %d", i)
		if i == 0 && t.KFlag {
			value = " = -1"
		}
		if i == 1 && (t.SizeOrType == 8 || !exact && r.chance(5)) {
			value = " = 0x100000001"
		}
		text += name + value + ", "
	}
	if values == nil {
		values = []string{"none" + suffix}
		text = values[0]
	}
	return "enum { " + text + "}", values
}
