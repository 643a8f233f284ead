package cheader

import (
	"slices"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// declare writes a declaration of name, which may be "", with the type whose id is id. It follows
// references from that type to the type that comes first in C (an int, a tagged type, a typedef,
// void, or an anonymous struct with its members). It pushes each type on the way onto a stack, and
// then writes these types from the top down.
func (g *generator) declare(id uint32, name string, level int) {
	if !g.enter(id) {
		return
	}
	defer g.leave()
	bottom := len(g.chain)
	for {
		g.chain = append(g.chain, id)
		if len(g.chain)-bottom > maxDepth {
			g.fail(id, "its chain of references is longer than %d types", maxDepth)
			break
		}
		t, o := g.blob.ByID(id)
		if t == nil {
			break
		}
		switch t.Kind {
		case btf.KindPtr, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindTypeTag,
			btf.KindFuncProto:
			id = t.SizeOrType
			continue
		case btf.KindArray:
			id = o.ArrayOf(t).Elem
			continue
		}
		break
	}
	if g.err == nil {
		g.declarator(bottom, name, level)
	}
	g.chain = g.chain[:bottom]
}

// declarator writes the types that are on the stack above bottom, with the name in the middle.
// Rule: C header: declarators. Source: libbpf btf_dump_emit_type_chain.
func (g *generator) declarator(bottom int, name string, level int) {
	afterStar := true // the first text needs no space before it
	for len(g.chain) > bottom {
		id := g.chain[len(g.chain)-1]
		g.chain = g.chain[:len(g.chain)-1]
		t, o := g.blob.ByID(id)
		if t == nil {
			g.qualifiers(bottom)
			g.str("void")
			afterStar = false
			continue
		}
		switch t.Kind {
		case btf.KindPtr:
			if !afterStar {
				g.str(" ")
			}
			g.str("*")
		case btf.KindVolatile, btf.KindConst, btf.KindRestrict:
			g.str(" " + qualifier[t.Kind])
		case btf.KindTypeTag:
			g.typeTag(t)
		case btf.KindArray:
			g.array(o.ArrayOf(t), bottom, name, afterStar, level)
			return
		case btf.KindFuncProto:
			g.function(t, o, bottom, name, afterStar, level)
			return
		default:
			g.base(id, t, o, bottom, level)
		}
		afterStar = t.Kind == btf.KindPtr
	}
	g.declared(name, afterStar)
}

func (g *generator) declared(name string, afterStar bool) {
	if name != "" && !afterStar {
		g.str(" ")
	}
	g.str(name)
}

// base writes the beginning of a declaration: a type, preceded by its qualifiers.
func (g *generator) base(id uint32, t *btf.Type, o *btf.Blob, bottom, level int) {
	g.qualifiers(bottom)
	switch t.Kind {
	case btf.KindInt, btf.KindFloat:
		g.str(g.spelling(id, t))
	case btf.KindTypedef:
		g.str(g.names.typedef(id, t))
	case btf.KindEnum, btf.KindEnum64:
		switch {
		case t.Vlen == 0 && g.sized && g.byValue(bottom): // the enum is not defined
			g.str(g.unsigned(id, t.SizeOrType))
		case t.NameOff == 0:
			g.enum(id, t, o, level, true)
		default:
			g.str("enum " + g.names.tag(id, t))
		}
	default:
		if t.NameOff == 0 { // a struct or union, because check refuses a FWD without a name
			g.composite(id, t, o, level, false)
		} else {
			g.str(g.tagOf(id, t))
		}
	}
}

// byValue reports whether the part of the stack above bottom has no pointer and no prototype.
func (g *generator) byValue(bottom int) bool {
	return !slices.ContainsFunc(g.chain[bottom:], func(id uint32) bool {
		t, _ := g.blob.ByID(id)
		return t != nil && (t.Kind == btf.KindPtr || t.Kind == btf.KindFuncProto)
	})
}

// qualifiers writes the qualifiers at the top of the stack, which precede the qualified type in C.
func (g *generator) qualifiers(bottom int) {
	for len(g.chain) > bottom {
		t, _ := g.blob.ByID(g.chain[len(g.chain)-1])
		if t == nil || qualifier[t.Kind] == "" {
			return
		}
		g.str(qualifier[t.Kind] + " ")
		g.chain = g.chain[:len(g.chain)-1]
	}
}

var qualifier = [btf.NumKinds]string{btf.KindVolatile: "volatile", btf.KindConst: "const",
	btf.KindRestrict: "restrict"}

// dropQualifiers drops qualifiers and tags of arrays and functions, because C can't express them.
// gcc copies qualifiers of elements to the array, and makes noreturn functions volatile.
func (g *generator) dropQualifiers(bottom int) {
	for len(g.chain) > bottom {
		t, _ := g.blob.ByID(g.chain[len(g.chain)-1])
		if t == nil || qualifier[t.Kind] == "" && t.Kind != btf.KindTypeTag {
			return
		}
		g.chain = g.chain[:len(g.chain)-1]
	}
}

func (g *generator) typeTag(t *btf.Type) {
	name := g.blob.TypeName(t)
	if t.KFlag && isPlainAttribute(name) {
		g.str(" __attribute__((" + name + "))")
		return
	}
	g.str(" __attribute__((btf_type_tag(\"" + escaped(name) + "\")))")
}

func (g *generator) array(a btf.Array, bottom int, name string, afterStar bool, level int) {
	g.dropQualifiers(bottom)
	if name != "" && !afterStar {
		g.str(" ")
	}
	if len(g.chain) == bottom {
		g.str(name)
	} else if t, _ := g.blob.ByID(g.chain[len(g.chain)-1]); t.Kind == btf.KindArray {
		g.declarator(bottom, name, level)
	} else {
		g.str("(")
		g.declarator(bottom, name, level)
		g.str(")")
	}
	g.str("[" + strconv.FormatUint(uint64(a.Nelems), 10) + "]")
}

func (g *generator) function(t *btf.Type, o *btf.Blob, bottom int, name string, afterStar bool,
	level int) {
	g.dropQualifiers(bottom)
	if len(g.chain) == bottom {
		g.declared(name, afterStar)
	} else {
		g.str(" (")
		g.declarator(bottom, name, level)
		g.str(")")
	}
	g.str("(")
	g.params(o.ParamsOf(t), level)
	g.str(")")
}

func (g *generator) params(params []btf.Param, level int) {
	if len(params) == 0 || len(params) == 1 && params[0].Type == 0 {
		g.str("void")
		return
	}
	sized := g.sized
	defer func() { g.sized = sized }()
	for i, p := range params {
		g.sized = false
		if i > 0 {
			g.str(", ")
		}
		if i == len(params)-1 && p.Type == 0 {
			g.str("...")
			return
		}
		name, _ := g.blob.Name(p.NameOff)
		if name != "" && g.hides(params, i, name) {
			name = ""
		}
		if name = g.names.identifier(name); keywordsC23[name] {
			name += "_"
		}
		g.declare(p.Type, name, level)
	}
}

// hides reports whether a parameter must lose its name, because a later parameter needs a typedef
// of this name, or has the same name.
func (g *generator) hides(params []btf.Param, i int, name string) bool {
	isTypedef := g.names.isTypedef(name)
	for _, later := range params[i+1:] {
		if later.NameOff == params[i].NameOff || isTypedef && g.leadsTo(later.Type, name) {
			return true
		}
	}
	return false
}

// leadsTo reports whether a type's declaration begins with the typedef called name.
func (g *generator) leadsTo(id uint32, name string) bool {
	for range maxDepth {
		t, o := g.blob.ByID(id)
		switch {
		case t == nil:
			return false
		case t.Kind == btf.KindTypedef:
			return g.blob.TypeName(t) == name
		case t.Kind == btf.KindArray:
			id = o.ArrayOf(t).Elem
		case t.Kind.HasType():
			id = t.SizeOrType
		default:
			return false
		}
	}
	return false
}
