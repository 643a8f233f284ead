package cheader

import (
	"math"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

func (g *generator) enumStatement(id uint32, t *btf.Type, o *btf.Blob) {
	whole := t.NameOff == 0 && t.Vlen > 0
	for _, e := range o.EnumsOf(t) {
		whole = whole && g.isC23(e)
	}
	if whole {
		g.str(beforeC23)
	}
	g.enum(id, t, o, 0, !whole)
	g.str(";\n")
	if whole {
		g.str(endC23)
	}
	g.str("\n")
}

// isC23 reports whether the name of an enumerator became a keyword in C23. Older versions of C need
// the enumerator's definition.
func (g *generator) isC23(e btf.Enumerator) bool {
	name, _ := g.blob.Name(e.NameOff)
	return keywordsC23[name]
}

// enum writes an enum with its values. If the parameter guard is set, the enumerators whose names
// are keywords in C23 get other names when the header is compiled as C23.
func (g *generator) enum(id uint32, t *btf.Type, o *btf.Blob, level int, guard bool) {
	g.str("enum")
	if t.NameOff != 0 {
		g.str(" ")
		g.str(g.names.tag(id, t))
	}
	if t.Vlen == 0 {
		if t.NameOff == 0 {
			g.fail(id, "it has neither a name nor enumerators")
		}
		return
	}
	g.str(" {")
	if t.IsCutEnum() {
		g.str(" /* 8 bytes, but the BTF has only the low 32 bits of the values */")
	}
	for _, e := range o.EnumsOf(t) {
		guarded := guard && g.isC23(e)
		if guarded {
			g.str("\n" + beforeC23[:len(beforeC23)-1])
		}
		name, _ := g.blob.Name(e.NameOff)
		g.enumerator(t, e, name, level+1)
		if guarded {
			g.str("\n#else")
			g.enumerator(t, e, name+"_", level+1)
			g.str("\n" + endC23[:len(endC23)-1])
		}
	}
	g.tabs(level)
	g.str("}")
	g.str(g.enumMode(t, o))
}

func (g *generator) enumerator(t *btf.Type, e btf.Enumerator, name string, level int) {
	g.tabs(level)
	g.str(g.names.enumerator(name))
	g.str(" = ")
	g.enumValue(t, e)
	g.str(",")
}

func (g *generator) enumValue(t *btf.Type, e btf.Enumerator) {
	suffix := ""
	if t.Kind == btf.KindEnum64 {
		suffix = "ULL"
		if t.KFlag {
			suffix = "LL"
		}
	}
	switch {
	case t.KFlag && int64(e.Value) == math.MinInt64: // C has no signed literal 9223372036854775808
		g.str("(-9223372036854775807LL - 1)")
		return
	case t.KFlag:
		g.out = strconv.AppendInt(g.out, int64(e.Value), 10)
	default:
		g.out = strconv.AppendUint(g.out, e.Value, 10)
	}
	g.str(suffix)
}

// enumMode returns the attribute that gives an enum its size, or "" if the enum needs none.
func (g *generator) enumMode(t *btf.Type, o *btf.Blob) string {
	negative, wide := false, false
	for _, e := range o.EnumsOf(t) {
		negative = negative || t.KFlag && int64(e.Value) < 0
	}
	for _, e := range o.EnumsOf(t) {
		if negative {
			wide = wide || int64(e.Value) != int64(int32(e.Value))
		} else {
			wide = wide || e.Value > math.MaxUint32
		}
	}
	switch {
	case t.SizeOrType == 1:
		return " __attribute__((mode(byte)))"
	case t.SizeOrType == 2:
		return " __attribute__((mode(HI)))"
	case t.SizeOrType == 8 && !wide && g.layouts.pointer == 8:
		return " __attribute__((mode(word)))"
	case t.SizeOrType == 8 && !wide:
		return " __attribute__((mode(DI)))"
	}
	return ""
}
