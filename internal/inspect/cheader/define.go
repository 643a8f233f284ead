package cheader

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// emit writes the type whose id is id. If the parameter in is 0, the type comes from the queue, and
// emit writes its definition. Otherwise, the type whose id is in refers to this type, and emit
// writes the declarations that the reference requires.
// Rule: C header: definitions and forward declarations. Source: libbpf btf_dump_emit_type.
func (g *generator) emit(id, in uint32) {
	if g.state[id]&emitted != 0 {
		return
	}
	if !g.enter(id) {
		return
	}
	defer g.leave()
	t, o := g.blob.ByID(id)
	if g.state[id]&emitting != 0 {
		g.emitAgain(id, in, t)
		return
	}
	switch t.Kind {
	case btf.KindInt, btf.KindFloat:
		g.emitNumber(id, t)
		g.state[id] |= emitted
	case btf.KindEnum, btf.KindEnum64:
		if in == 0 {
			g.enumStatement(id, t, o)
		}
		g.state[id] |= emitted
	case btf.KindFwd:
		g.str(g.tagOf(id, t) + ";\n\n")
		g.state[id] |= emitted
	case btf.KindTypedef:
		g.state[id] |= emitting
		g.emit(t.SizeOrType, id)
		if g.state[id]&declared == 0 {
			g.typedef(id, t)
		}
		g.state[id] |= emitted
	case btf.KindStruct, btf.KindUnion:
		g.emitComposite(id, in, t, o)
	case btf.KindFuncProto:
		g.emit(t.SizeOrType, in)
		for _, p := range o.ParamsOf(t) {
			g.emit(p.Type, in)
		}
	case btf.KindArray:
		g.emit(o.ArrayOf(t).Elem, in)
	case btf.KindPtr, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindTypeTag:
		g.emit(t.SizeOrType, in)
	}
}

// emitAgain writes a declaration of a type whose definition refers to the type itself.
func (g *generator) emitAgain(id, in uint32, t *btf.Type) {
	if g.state[id]&declared != 0 {
		return
	}
	switch {
	case t.Kind == btf.KindTypedef:
		g.typedef(id, t) // enough for pointers to it
	case !t.Kind.IsComposite() || id == in:
		return
	case t.NameOff == 0:
		g.fail(id, "it contains itself, which C doesn't allow")
	default:
		g.str(g.tagOf(id, t) + ";\n\n")
	}
	g.state[id] |= declared
}

func (g *generator) emitComposite(id, in uint32, t *btf.Type, o *btf.Blob) {
	top, inner := in == 0, in
	if t.NameOff != 0 {
		inner = id
	}
	g.state[id] |= emitting
	if !g.layouts.shape(id).opaque() && (top || t.NameOff == 0) {
		for _, m := range o.MembersOf(t) {
			g.emit(m.Type, inner)
		}
	}
	if !top && t.NameOff != 0 && g.state[id]&declared == 0 && id != in {
		g.str(g.tagOf(id, t) + ";\n\n")
		g.state[id] |= declared
	}
	g.state[id] &^= emitting
	if top {
		g.composite(id, t, o, 0, false)
		g.str(";\n\n")
		g.state[id] |= emitted
	}
}

func (g *generator) tagOf(id uint32, t *btf.Type) string {
	word := "struct "
	if t.Kind == btf.KindUnion || t.Kind == btf.KindFwd && t.KFlag {
		word = "union "
	}
	return word + g.names.tag(id, t)
}

// beforeC23 and endC23 surround definitions of names that became keywords in C23.
const (
	beforeC23 = "#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L\n"
	endC23    = "#endif\n"
)

// typedef writes the definition of a typedef, except __builtin_va_list, which compilers define.
func (g *generator) typedef(id uint32, t *btf.Type) {
	original := g.blob.TypeName(t)
	if original == "__builtin_va_list" {
		return
	}
	name := g.names.typedef(id, t)
	if original == "__gnuc_va_list" && t.SizeOrType == 0 { // old versions of gcc describe it so
		g.str("typedef __builtin_va_list __gnuc_va_list;\n\n")
		return
	}
	if name == "bool" {
		g.str(beforeC23)
	}
	g.sized = false
	g.str("typedef ")
	g.declare(t.SizeOrType, name, 0)
	g.str(";\n")
	if name == "bool" {
		g.str(endC23)
	}
	g.str("\n")
}

// composite writes a struct or union with its members and, unless embedded is set, its tag.
func (g *generator) composite(id uint32, t *btf.Type, o *btf.Blob, level int, embedded bool) {
	if !g.enter(id) {
		return
	}
	defer g.leave()
	if t.NameOff != 0 && !embedded {
		g.str(g.tagOf(id, t))
	} else {
		g.str(strings.ToLower(t.Kind.String()))
	}
	g.str(" {")
	s := g.layouts.shape(id)
	placed, _ := g.layouts.members(t, o)
	members := o.MembersOf(t)
	for _, f := range g.layouts.fields(t, placed, s) {
		switch {
		case f.member >= 0:
			g.member(members[f.member], f, level+1)
			continue
		case f.bytes != 0:
			g.tabs(level + 1)
			g.out = fmt.Appendf(g.out, "unsigned char ___pad%d[%d]", -f.member, f.bytes)
		default:
			g.tabs(level + 1)
			g.str(g.layouts.pads[f.pad].name)
			g.width(f.bits)
		}
		g.str(";")
	}
	if len(members) > 0 || t.SizeOrType > 0 {
		g.tabs(level)
	}
	g.str("}")
	g.attributes(s)
}

// member writes a member. A member without a name is a struct or union: an anonymous one or, with
// -fms-extensions (Linux 7.0 or later), one with a tag or a typedef. Without that option, naming
// the tag or typedef would declare nothing, so the struct or union is written in place, without its
// tag.
func (g *generator) member(m btf.Member, f field, level int) {
	name, _ := g.blob.Name(m.NameOff)
	g.sized = true
	if name == "" && f.bits == 0 {
		t, o, id, _, _ := g.layouts.terminal(m.Type)
		direct, _ := g.blob.ByID(m.Type)
		switch {
		case !t.Kind.IsComposite() || direct.Kind == btf.KindArray:
			name = "___member" + strconv.Itoa(f.member)
		case t.NameOff != 0 || direct.Kind == btf.KindTypedef:
			g.tabs(level)
			g.composite(id, t, o, level, true)
			g.str(";")
			return
		}
	}
	if name = g.names.identifier(name); !keywordsC23[name] {
		g.memberAs(m, f, name, level)
		return
	}
	g.str("\n" + beforeC23[:len(beforeC23)-1])
	g.memberAs(m, f, name, level)
	g.str("\n#else")
	g.memberAs(m, f, name+"_", level)
	g.str("\n" + endC23[:len(endC23)-1])
}

func (g *generator) memberAs(m btf.Member, f field, name string, level int) {
	g.tabs(level)
	g.declare(m.Type, name, level)
	if f.bits != 0 {
		g.width(f.bits)
	}
	g.str(";")
}

func (g *generator) width(bits uint64) {
	g.str(": ")
	g.out = strconv.AppendUint(g.out, bits, 10)
}

func (g *generator) attributes(s shape) {
	if s.isPacked() && !s.opaque() {
		g.str(" __attribute__((packed))")
	}
	if s.aligned != 0 {
		g.out = fmt.Appendf(g.out, " __attribute__((aligned(%d)))", s.aligned)
	}
}
