package btftext

import "github.com/rules-btf/rules_btf/internal/format/btf"

// declare writes a declaration as in C. The parameter declared is the quoted name, or "".
//
// It follows references from the type to the type that comes first in C, and pushes each type on
// the way onto a stack. Then it writes these types from the top down.
func (p *printer) declare(id uint32, declared string) {
	bottom, depth, base := len(p.chain), p.depth, p.base
	for {
		t, o := p.blob.ByID(id)
		if t == nil || !isConstructor(t.Kind) {
			break
		}
		if !p.deeper(id) {
			return
		}
		p.chain = append(p.chain, id)
		switch t.Kind {
		case btf.KindArray:
			id = o.ArrayOf(t).Elem
			continue
		case btf.KindPtr, btf.KindFuncProto:
			p.base = 0
		}
		id = t.SizeOrType
	}
	top := p.qualifiersBelow(len(p.chain), bottom)
	for _, q := range p.chain[top:] {
		p.qualifier(q)
		p.str(" ")
	}
	p.first(id)
	d := declarator{printer: p, bottom: bottom, depth: depth, declared: declared, space: true}
	d.write(top)
	p.chain, p.depth, p.base = p.chain[:bottom], depth, base
}

// isConstructor reports whether declarations have this kind around the name, or as a qualifier.
func isConstructor(k btf.Kind) bool {
	switch k {
	case btf.KindPtr, btf.KindArray, btf.KindFuncProto, btf.KindConst, btf.KindVolatile,
		btf.KindRestrict, btf.KindTypeTag:
		return true
	}
	return false
}

// qualifiersBelow returns where the run of qualifiers begins that ends before index i of the stack.
func (p *printer) qualifiersBelow(i, bottom int) int {
	for i > bottom {
		t, _ := p.blob.ByID(p.chain[i-1])
		if qualifiers[t.Kind] == "" && t.Kind != btf.KindTypeTag {
			break
		}
		i--
	}
	return i
}

func (p *printer) qualifier(id uint32) {
	t, _ := p.blob.ByID(id)
	if t.Kind == btf.KindTypeTag {
		p.str(tagWord(t) + "(" + quoted(p.name(t.NameOff)) + ")")
	} else {
		p.str(qualifiers[t.Kind])
	}
}

// first writes the type with which a declaration begins.
func (p *printer) first(id uint32) {
	t, o := p.blob.ByID(id)
	if t == nil {
		p.str("void")
		return
	}
	class, _ := classOf(t)
	name := p.name(t.NameOff)
	if name == "" && (t.Kind.IsComposite() || t.Kind.IsEnum()) {
		p.body(id, t, o)
		return
	}
	if p.several[id] {
		p.refs = append(p.refs, id)
	}
	p.out = appendKey(p.out, key{class, name, p.numbers[id]})
}

// declarator writes what follows the first type of a declaration.
type declarator struct {
	*printer
	bottom   int // of the declaration's part of the stack
	depth    int // at the bottom
	declared string
	space    bool // a space has to precede the next word or *
}

func (d *declarator) spaced(s string) {
	if d.space {
		d.str(" ")
	}
	d.str(s)
	d.space = true
}

// write writes the types that are on the stack below index i.
func (d *declarator) write(i int) {
	for i > d.bottom {
		i--
		t, o := d.blob.ByID(d.chain[i])
		if t.Kind == btf.KindPtr {
			d.spaced("*")
			d.space = false
			for from := d.qualifiersBelow(i, d.bottom); i > from; i-- {
				if d.space {
					d.str(" ")
				}
				d.qualifier(d.chain[i-1])
				d.space = true
			}
			continue
		}
		// an array or function, after the name and all that is nearer to the name
		from := d.qualifiersBelow(i, d.bottom)
		if from < i && d.declared == "" {
			d.declared = "''" // otherwise the qualifiers could belong to a * before them
		}
		if from > d.bottom && d.kind(from-1) == btf.KindPtr {
			d.spaced("(")
			d.space = false
			d.write(from)
			d.str(")")
		} else {
			d.write(from)
		}
		for _, q := range d.chain[from:i] {
			d.str(" ")
			d.qualifier(q)
		}
		d.suffix(i, t, o)
		return
	}
	if d.declared != "" {
		d.spaced(d.declared)
	}
}

func (d *declarator) kind(i int) btf.Kind {
	t, _ := d.blob.ByID(d.chain[i])
	return t.Kind
}

// suffix writes the length of an array or the parameters of a function.
func (d *declarator) suffix(i int, t *btf.Type, o *btf.Blob) {
	depth := d.printer.depth
	d.printer.depth, d.base = d.depth+i-d.bottom+1, 0
	if t.Kind == btf.KindArray {
		d.length(o.ArrayOf(t))
	} else {
		function := uint32(0)
		if i == 0 {
			function = d.function
		}
		d.params(d.chain[i], function, o.ParamsOf(t))
	}
	d.printer.depth = depth
}

// marker surrounds the type of an array's indices in a definition, if the type has a name. No name
// has this character.
const marker = "\x00"

func (p *printer) length(a btf.Array) {
	p.str("[")
	p.num(uint64(a.Nelems))
	t, _ := p.blob.ByID(a.Index)
	if _, ok := p.key(t); ok {
		p.str(marker)
		p.first(a.Index)
		p.str(marker)
	} else {
		p.str(" : ")
		p.declare(a.Index, "")
	}
	p.str("]")
}

func (p *printer) params(id, function uint32, params []btf.Param) {
	p.str("(")
	if len(params) == 0 {
		p.str("void")
	}
	for i, a := range params {
		if !p.room(id) {
			return
		}
		if i > 0 {
			p.str(", ")
		}
		name := p.name(a.NameOff)
		switch {
		case i == len(params)-1 && name == "" && a.Type == 0:
			p.str("...")
		case name == "":
			p.declare(a.Type, "")
		default:
			p.declare(a.Type, quoted(name))
		}
		p.declTags(function, uint32(i))
	}
	p.str(")")
}
