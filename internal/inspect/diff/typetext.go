package diff

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// These limit how many levels of nested types, and how many types in all, are written.
const (
	maxSpell  = 8
	maxSpells = 1000
)

// declaredMark is after the name of a struct or union that is only declared.
const declaredMark = " (declared)"

// title returns a type's kind and name for a report.
func (c *comparison) title(n uint32) string {
	t := c.nodes[n].typ
	kind := strings.ToLower(t.Kind.String())
	switch {
	case t.Kind == btf.KindFwd:
		return "forward " + fwdWord(t) + " " + message.Printable(c.name(n))
	case t.Kind == btf.KindDeclTag:
		s := fmt.Sprintf("decl_tag %q on %s", c.name(n), c.spellNamed(c.children(n)[0]))
		if t.Extra != btf.DeclTagWhole {
			s += fmt.Sprintf(" component %d", t.Extra)
		}
		return s
	case !t.Kind.IsComposite() && !t.Kind.IsEnum():
		return kind + " " + c.spell(n)
	case c.name(n) == "":
		return kind + " (anon) " + c.sample(n)
	}
	return c.spell(n)
}

// sample returns the names of the first elements of an anonymous type: "{a, b, c, d, … 9 in all}".
func (c *comparison) sample(n uint32) string {
	const shown = 4
	names := c.elements(n, shown)
	for i := range names {
		names[i] = message.Printable(names[i])
	}
	more := ""
	if all := c.nodes[n].typ.Vlen; all > shown {
		more = fmt.Sprintf(", … %d in all", all)
	}
	return "{" + strings.Join(names, ", ") + more + "}"
}

// spellNamed is like spell, but writes the kind before the name of a function, variable or typedef.
func (c *comparison) spellNamed(n uint32) string {
	switch k := c.kind(n); k {
	case btf.KindFunc, btf.KindVar, btf.KindTypedef:
		return strings.ToLower(k.String()) + " " + message.Printable(c.name(n))
	}
	return c.spell(n)
}

// spell writes a type in C syntax. If the type has a name, it writes only the name.
func (c *comparison) spell(n uint32) string { return c.declare(n, "", maxSpell) }

// declare writes, in C syntax, a declaration of inner with the type n. The parameter inner is a
// declarator, such as "*", "(*)[3]" or "".
func (c *comparison) declare(n uint32, inner string, depth int) string {
	c.work.spellsLeft = maxSpells
	return c.declarePart(n, inner, depth)
}

func (c *comparison) declarePart(n uint32, inner string, depth int) string {
	c.work.spellsLeft--
	join := func(s string) string {
		if inner == "" || strings.HasPrefix(inner, "[") {
			return s + inner
		}
		return s + " " + inner
	}
	switch {
	case n == voidNode:
		return join("void")
	case n == missingNode:
		return join("(missing type)")
	case depth == 0 || c.work.spellsLeft <= 0:
		return join("…")
	}
	t, name, kids := c.nodes[n].typ, message.Printable(c.name(n)), c.children(n)
	word := strings.ToLower(t.Kind.String())
	switch t.Kind {
	case btf.KindPtr:
		inner = "*" + inner
		if k := c.kind(kids[0]); k == btf.KindFuncProto || k == btf.KindArray {
			inner = "(" + inner + ")"
		}
		return c.declarePart(kids[0], inner, depth-1)
	case btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypeTag:
		switch {
		case t.Kind == btf.KindTypeTag && t.KFlag:
			word = fmt.Sprintf("attribute(%q)", c.name(n))
		case t.Kind == btf.KindTypeTag:
			word = fmt.Sprintf("tag(%q)", c.name(n))
		}
		if c.kind(kids[0]) == btf.KindPtr {
			if inner != "" {
				word += " " + inner
			}
			return c.declarePart(kids[0], " "+word, depth-1)
		}
		return word + " " + c.declarePart(kids[0], inner, depth-1)
	case btf.KindArray:
		return c.declarePart(kids[0], fmt.Sprintf("%s[%d]", inner, c.nodes[n].blob.ArrayOf(t).Nelems),
			depth-1)
	case btf.KindFuncProto:
		var params []string
		for i, k := range kids[1:] {
			if i == 16 {
				params = append(params, "…")
				break
			}
			text := "..."
			if k != voidNode {
				text = c.declarePart(k, "", depth-1)
			}
			params = append(params, text)
		}
		return c.declarePart(kids[0], inner+"("+strings.Join(params, ", ")+")", depth-1)
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		if name == "" {
			name = c.sample(n)
		}
		return join(word + " " + name)
	case btf.KindFwd:
		return join(fwdWord(t) + " " + name + declaredMark)
	}
	return join(name)
}
