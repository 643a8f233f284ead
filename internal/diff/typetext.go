package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// maxSpell bounds how deep a type is written out, in nested types.
const maxSpell = 8

// title returns how a type is called in a report: its kind and name.
func (c *comparison) title(n uint32) string {
	t := c.nodes[n].typ
	kind := strings.ToLower(c.kind(n).String())
	name := clean(c.name(n))
	switch c.kind(n) {
	case btf.KindFwd:
		kind = "forward struct"
		if t.KFlag {
			kind = "forward union"
		}
	case btf.KindFunc, btf.KindVar, btf.KindTypedef, btf.KindInt, btf.KindFloat, btf.KindDatasec:
	case btf.KindDeclTag:
		on := c.children(n)[0]
		s := fmt.Sprintf("decl_tag %q on %s", c.name(n), c.spellNamed(on))
		if t.Extra != btf.DeclTagWhole {
			s += fmt.Sprintf(" component %d", t.Extra)
		}
		return s
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		if name == "" {
			return kind + " (anon) " + c.sample(n)
		}
	default:
		return kind + " " + c.spell(n)
	}
	return kind + " " + name
}

// sample returns the names of the first elements of an anonymous type: "{a, b, c, d, … 9 in all}".
func (c *comparison) sample(n uint32) string {
	t, b := c.nodes[n].typ, c.nodes[n].blob
	var names []string
	add := func(off uint32) {
		s, _ := b.Name(off)
		names = append(names, clean(s))
	}
	const shown = 4
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		for _, m := range b.MembersOf(t)[:min(t.Vlen, shown)] {
			add(m.NameOff)
		}
	default:
		for _, e := range b.EnumsOf(t)[:min(t.Vlen, shown)] {
			add(e.NameOff)
		}
	}
	more := ""
	if t.Vlen > shown {
		more = fmt.Sprintf(", … %d in all", t.Vlen)
	}
	return "{" + strings.Join(names, ", ") + more + "}"
}

// spellNamed is spell, with the kind before the name of functions, variables and typedefs.
func (c *comparison) spellNamed(n uint32) string {
	switch k := c.kind(n); k {
	case btf.KindFunc, btf.KindVar, btf.KindTypedef:
		return strings.ToLower(k.String()) + " " + clean(c.name(n))
	}
	return c.spell(n)
}

// spell writes a type as C does, and named types by their name.
func (c *comparison) spell(n uint32) string { return c.declare(n, "", maxSpell) }

// declare writes the declaration of inner with type n, as C does: inner is a name, "" or the
// declarator around it, such as "*" or "(*)[3]".
func (c *comparison) declare(n uint32, inner string, depth int) string {
	join := func(s string) string {
		if inner == "" {
			return s
		}
		if strings.HasPrefix(inner, "[") {
			return s + inner
		}
		return s + " " + inner
	}
	if n == voidNode {
		return join("void")
	}
	if n == missingNode {
		return join("(missing type)")
	}
	if depth == 0 {
		return join("…")
	}
	t, name := c.nodes[n].typ, clean(c.name(n))
	kids := c.children(n)
	switch t.Kind {
	case btf.KindPtr:
		switch c.kind(kids[0]) {
		case btf.KindFuncProto, btf.KindArray:
			return c.declare(kids[0], "(*"+inner+")", depth-1)
		}
		return c.declare(kids[0], "*"+inner, depth-1)
	case btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypeTag:
		word := strings.ToLower(t.Kind.String())
		if t.Kind == btf.KindTypeTag {
			word = fmt.Sprintf("tag(%s)", strconv.Quote(c.name(n)))
			if t.KFlag {
				word = fmt.Sprintf("attribute(%s)", strconv.Quote(c.name(n)))
			}
		}
		if c.kind(kids[0]) == btf.KindPtr {
			if inner != "" {
				word += " " + inner
			}
			return c.declare(kids[0], " "+word, depth-1)
		}
		return word + " " + c.declare(kids[0], inner, depth-1)
	case btf.KindArray:
		return c.declare(kids[0], fmt.Sprintf("%s[%d]", inner, c.nodes[n].blob.ArrayOf(t).Nelems),
			depth-1)
	case btf.KindFuncProto:
		var params []string
		for i, k := range kids[1:] {
			if i == 16 {
				params = append(params, "…")
				break
			}
			if k == voidNode {
				params = append(params, "...")
			} else {
				params = append(params, c.declare(k, "", depth-1))
			}
		}
		return c.declare(kids[0], inner+"("+strings.Join(params, ", ")+")", depth-1)
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		word := strings.ToLower(t.Kind.String())
		if name == "" {
			return join(word + " " + c.sample(n))
		}
		return join(word + " " + name)
	case btf.KindFwd:
		if t.KFlag {
			return join("union " + name + " (declared)")
		}
		return join("struct " + name + " (declared)")
	}
	return join(name)
}

// clean quotes a name that has characters other than printable ASCII.
func clean(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return strconv.Quote(s)
		}
	}
	return s
}
