package btftext

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// declaration is what reader.declaration reads.
type declaration struct {
	of     btf.Kind // TYPEDEF, FUNC or VAR; otherwise the name is optional
	named  bool
	name   string
	number uint32 // after the name of a TYPEDEF
	typ    uint32
	tags   []tag // on the parameters of a FUNC
}

// operator is a type in a declaration that refers to the next one: a PTR, an ARRAY …
type operator struct {
	record btf.Type  // without First; the type referred to is not set yet
	array  btf.Array // likewise
	params []btf.Param
}

// declaration reads a declaration as in C. If the declared object contains an anonymous struct or
// union, base is what must be subtracted from the offsets in it.
func (r *reader) declaration(d *declaration, base uint64) {
	bottom, pos := len(r.operators), r.tok.pos
	for r.qualifier() {
	}
	middle := len(r.operators)
	id, anonymous := r.first()
	r.declarator(d)
	if d.of != btf.KindVoid && !d.named {
		r.expected("a name")
	}
	operators := r.operators[bottom:]
	if anonymous != nil {
		if slices.ContainsFunc(operators, func(o operator) bool {
			return o.record.Kind == btf.KindPtr || o.record.Kind == btf.KindFuncProto
		}) {
			base = 0
		}
		id = r.addBody(anonymous, base, true)
	}
	// In both parts, what is nearest to the name comes first.
	for _, part := range [][]operator{r.operators[bottom:middle], r.operators[middle:]} {
		for _, o := range slices.Backward(part) {
			id = r.apply(&o, id, pos)
		}
	}
	d.typ = id
	r.operators = r.operators[:bottom]
}

// enter is called before a declaration is read inside of another one. Otherwise deep nesting could
// exhaust the stack. A text from Write is never so deep.
func (r *reader) enter() bool {
	if r.depth++; r.depth > maxDepth*maxDepth {
		r.failAt(r.tok.pos, "declarations are nested too deeply")
	}
	return r.err == nil
}

// qualifier reads a qualifier or type tag, if there is one.
func (r *reader) qualifier() bool {
	if r.tok.kind != word {
		return false
	}
	var t btf.Type
	switch r.tok.text {
	case "const":
		t.Kind = btf.KindConst
	case "volatile":
		t.Kind = btf.KindVolatile
	case "restrict":
		t.Kind = btf.KindRestrict
	case typeTag, typeAttr:
		t.Kind, t.KFlag = btf.KindTypeTag, r.tok.text == typeAttr
	default:
		return false
	}
	r.next()
	if t.Kind == btf.KindTypeTag {
		t.NameOff = r.builder.Name(r.parenthesized())
	}
	r.operators = append(r.operators, operator{record: t})
	return true
}

// first reads the type with which a declaration begins. A struct, union or enum without a name is
// returned as anonymous, because the offsets in it depend on the rest of the declaration.
func (r *reader) first() (id uint32, anonymous *body) {
	pos := r.tok.pos
	k := key{class: ordinary, number: 1}
	switch text := r.tok.text; {
	case r.isName():
		k.name = r.name()
	case r.tok.kind != word:
		r.expected("a type")
		return 0, nil
	case r.acceptWord("void"):
		return 0, nil
	case isBaseWord(text):
		k.name = r.baseType()
	case tagKinds[text] == btf.KindVoid:
		r.expected("a type")
		return 0, nil
	default:
		r.next()
		if r.tok.kind == number || text == "enum64" {
			if r.enter() {
				body := r.body(tagKinds[text])
				anonymous = &body
			}
			r.depth--
			return 0, anonymous
		}
		k.class, _ = classOf(&btf.Type{Kind: tagKinds[text]})
		k.name = r.name()
	}
	k.number = r.variant()
	if r.err != nil {
		return 0, nil
	}
	return r.named(k, pos), nil
}

// baseType reads the words of a base type, and returns them with one space between them.
func (r *reader) baseType() string {
	start, end := r.tok.pos, r.pos
	for r.next(); r.tok.kind == word && isBaseWord(r.tok.text); r.next() {
		end = r.pos
	}
	name := r.text[start:end]
	if strings.Contains(name, "  ") || strings.Contains(name, "\n") {
		name = strings.Join(strings.Fields(name), " ")
	}
	return name
}

// declarator reads what follows the first type of a declaration, and pushes operators: what is
// nearest to the name comes first.
func (r *reader) declarator(d *declaration) {
	bottom := len(r.operators)
	for r.accept('*') {
		r.operators = append(r.operators, operator{record: btf.Type{Kind: btf.KindPtr}})
		for r.qualifier() {
		}
	}
	middle := len(r.operators)
	own := false // the name is here, not in parentheses
	if r.tok.kind == '(' && strings.HasPrefix(strings.TrimLeft(r.text[r.pos:], " \n"), "*") {
		r.next()
		if r.enter() {
			r.declarator(d)
		}
		r.depth--
		r.expect(')')
	} else if r.isName() {
		own, d.named, d.name = true, true, r.name()
		if d.of == btf.KindTypedef {
			d.number = r.variant()
		}
	}
	for first := own; r.err == nil; first = false {
		qualified := false
		for r.qualifier() {
			qualified = true
		}
		switch {
		case r.tok.kind == '[':
			r.array()
		case r.tok.kind == '(':
			tags := &d.tags
			if !first || qualified || d.of != btf.KindFunc {
				tags = nil
			}
			r.params(tags)
		case qualified:
			r.expected("[ or (")
		default:
			// what is right of the name is nearer to it, then what is left, from right to left
			slices.Reverse(r.operators[bottom:])
			slices.Reverse(r.operators[bottom : len(r.operators)-(middle-bottom)])
			return
		}
	}
}

// array reads the length of an array.
func (r *reader) array() {
	r.expect('[')
	o := operator{record: btf.Type{Kind: btf.KindArray}}
	pos := r.tok.pos
	o.array.Nelems = uint32(r.number(1<<32 - 1))
	if r.accept(':') {
		o.array.Index = r.inner().typ
	} else if o.array.Index = r.index; r.index == 0 {
		r.failAt(pos, "expected a line such as \"index int;\" before the first array")
	}
	r.expect(']')
	r.operators = append(r.operators, o)
}

// inner reads a declaration that is part of another one, and does not need a name.
func (r *reader) inner() (d declaration) {
	if r.enter() {
		r.declaration(&d, 0)
	}
	r.depth--
	return d
}

// params reads the parameters of a function. If tags is nil, they must not have DECL_TAGs.
func (r *reader) params(tags *[]tag) {
	r.expect('(')
	o := operator{record: btf.Type{Kind: btf.KindFuncProto}}
	empty := r.is("void") && strings.HasPrefix(strings.TrimLeft(r.text[r.pos:], " \n"), ")")
	if empty {
		r.next()
	}
	for last := empty; !last && r.err == nil; {
		var param btf.Param
		if last = r.accept(ellipsis); !last {
			d := r.inner()
			param = btf.Param{NameOff: r.builder.Name(d.name), Type: d.typ}
		}
		if tags != nil {
			*tags = r.declTags(*tags, uint32(len(o.params)))
		}
		o.params = append(o.params, param)
		last = last || !r.accept(',')
	}
	r.expect(')')
	r.operators = append(r.operators, o)
}
