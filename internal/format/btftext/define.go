package btftext

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// maxGrowth limits how many times as large as the BTF the reference is. Types without a name that
// are nested in each other can make it much larger: they are written wherever they are used.
// References of whole kernels are less than 3 times as large.
const maxGrowth = 16

// printer makes the definitions of a reference.
type printer struct {
	blob    *btf.Blob
	all     []uint32 // the ids of definitions, in the order of the reference
	numbers []uint32 // by index in Types: the number after the name
	current uint32   // the id of the definition that is being written
	left    int      // how many more bytes may be written, about
	err     error    // the first error
}

// order is the order of the kinds.
var order = []string{"func", "var", "struct", "union", "enum", "enum64", "typedef", "int", "float"}

func rank(t *btf.Type) int { return slices.Index(order, word(t)) }

// word is the kind of a definition.
func word(t *btf.Type) string {
	if t.Kind == btf.KindFwd {
		return words[t.TagKind()]
	}
	return words[t.Kind]
}

func newPrinter(b *btf.Blob) *printer {
	size := len(b.Strings) + 12*(len(b.Types)+len(b.Members)+len(b.Enums)+len(b.Params))
	p := &printer{blob: b, numbers: make([]uint32, len(b.Types)), left: maxGrowth*size + 1<<16}
	for id, t := range b.All() {
		p.check(id, t)
		if p.isDefinition(id, t) {
			p.all = append(p.all, id)
		}
	}
	slices.SortStableFunc(p.all, func(x, y uint32) int {
		t, u := &b.Types[x-b.StartID], &b.Types[y-b.StartID]
		return cmp.Or(cmp.Compare(rank(t), rank(u)), cmp.Compare(b.TypeName(t), b.TypeName(u)))
	})
	last := map[string]uint32{}
	taken := map[string]bool{}
	for _, id := range p.all {
		if kind := b.Types[id-b.StartID].Kind; kind == btf.KindFunc || kind == btf.KindVar {
			continue // no type refers to it
		}
		key := p.key(id)
		last[key]++
		p.numbers[id-b.StartID] = last[key]
		key = p.key(id)
		if record, _, _ := cut(key); record.Kind != btf.KindVoid || isWord(key) || taken[key] {
			p.fail(id, "a reference can't have a type with this name")
		}
		taken[key] = true
	}
	return p
}

func (p *printer) fail(id uint32, format string, args ...any) {
	if p.err == nil {
		t, _ := p.blob.ByID(id)
		p.err = fmt.Errorf("BTF type [%d] %s: "+format,
			append([]any{id, message.Printable(p.blob.KindName(t))}, args...)...)
	}
}

// name returns a name of the type id.
func (p *printer) name(id, off uint32) string {
	name, err := p.blob.Name(off)
	if err == nil && !utf8.ValidString(name) {
		err = fmt.Errorf("the name %q is not UTF-8", name)
	}
	if err != nil {
		p.fail(id, "%w", err)
	}
	return name
}

// check fails for a type that a reference can't have.
func (p *printer) check(id uint32, t *btf.Type) {
	switch t.Kind {
	case btf.KindFunc, btf.KindVar:
		linkage := t.Extra
		if t.Kind == btf.KindFunc {
			linkage = t.Vlen
		}
		if linkage != btf.LinkageGlobal {
			p.fail(id, "it is not global")
		}
	case btf.KindDatasec, btf.KindDeclTag, btf.KindLocParam, btf.KindLocProto, btf.KindLocsec:
		p.fail(id, "a reference can't have types of this kind")
	}
}

// isDefinition reports whether a type is not written inside of another one.
func (p *printer) isDefinition(id uint32, t *btf.Type) bool {
	if t.Kind.IsComposite() || t.Kind.IsEnum() {
		return p.name(id, t.NameOff) != ""
	}
	return t.Kind == btf.KindFwd || words[t.Kind] != "" && t.Kind != btf.KindFuncProto
}

// room reports whether n more bytes may be written, and nothing has failed.
func (p *printer) room(n int) bool {
	if p.left -= n; p.left < 0 {
		p.fail(p.current, "the reference would be more than %d times as large as the BTF, because it "+
			"repeats names, and types without a name, wherever they are used", maxGrowth)
	}
	return p.err == nil
}

// head returns the definition of a type, without what the type consists of.
func (p *printer) head(id uint32) *definition {
	t, _ := p.blob.ByID(id)
	d := &definition{Kind: word(t), Name: p.name(id, t.NameOff),
		Declared: t.Kind == btf.KindFwd}
	if n := p.numbers[id-p.blob.StartID]; n > 1 {
		d.Number = n
	}
	return d
}

// key is how others refer to a type with a name.
func (p *printer) key(id uint32) string { return p.head(id).key() }

func (p *printer) define(id uint32) *definition {
	t, _ := p.blob.ByID(id)
	d := p.head(id)
	p.current = id
	p.room(len(d.Name) + 64)
	switch t.Kind {
	case btf.KindFunc:
		if to, _ := p.blob.ByID(t.SizeOrType); to == nil || to.Kind != btf.KindFuncProto {
			p.fail(id, "it has no prototype")
			break
		}
		d.Body = p.body(t.SizeOrType, 0)
	case btf.KindVar, btf.KindTypedef:
		u := p.use(t.SizeOrType, 0)
		d.Type, d.Body = u.Type, u.Body
	case btf.KindFwd:
	case btf.KindInt, btf.KindFloat:
		encoding := t.Extra >> 24
		d.Bit, d.Bits = uint8(t.Extra>>16), uint8(t.Extra)
		d.Char, d.Bool = encoding&btf.IntChar != 0, encoding&btf.IntBool != 0
		d.Body = &Body{Size: t.SizeOrType, Signed: encoding&btf.IntSigned != 0}
		if encoding > 7 || t.Extra&0xff00 != 0 {
			p.fail(id, "invalid encoding %#x", t.Extra)
		}
	default:
		d.Body = p.body(id, 0)
	}
	return d
}

// use writes a type where it is used. The parameter depth says how many types without a name
// surround it.
func (p *printer) use(id uint32, depth int) use {
	var text strings.Builder
	add := func(s ...string) {
		for _, s := range s {
			p.room(len(s))
			text.WriteString(s)
		}
	}
	for p.room(1) {
		t, _ := p.blob.ByID(id)
		if depth++; depth > maxDepth {
			p.fail(id, "more than %d types without a name are nested in each other", maxDepth)
			break
		}
		switch {
		case t == nil && id != 0:
			p.err = fmt.Errorf("BTF type [%d] does not exist", id)
		case t == nil:
			add("void")
			return use{Type: text.String()}
		case t.Kind == btf.KindArray:
			a := p.blob.ArrayOf(t)
			index, _ := p.blob.ByID(a.Index)
			if index == nil || index.Kind != btf.KindInt || p.key(a.Index) != Index {
				p.fail(id, "its indices don't have the type "+Index)
			}
			add("[", strconv.FormatUint(uint64(a.Nelems), 10), "]")
			id = a.Elem
		case t.Kind == btf.KindPtr || t.Kind.IsModifier() && t.Kind != btf.KindTypedef:
			for _, o := range operators {
				if o.kind != t.Kind || t.Kind == btf.KindTypeTag && o.attr != t.KFlag {
					continue
				}
				name := p.name(id, t.NameOff)
				if name != "" && (o.close == "" || strings.Contains(name, o.close)) {
					p.fail(id, "a reference can't have this name here")
				}
				add(o.open, name, o.close)
			}
			id = t.SizeOrType
		case t.Kind == btf.KindFunc || t.Kind == btf.KindVar:
			p.fail(id, "it is not a type")
		case p.isDefinition(id, t):
			add(p.key(id))
			return use{Type: text.String()}
		default:
			add(words[t.Kind])
			return use{text.String(), p.body(id, depth)}
		}
	}
	return use{}
}

// body writes what a struct, union, enum or prototype consists of.
func (p *printer) body(id uint32, depth int) *Body {
	const line = 40 // the length of a line without names, about
	t, _ := p.blob.ByID(id)
	b := &Body{}
	switch {
	case t.Kind == btf.KindFuncProto:
		if t.SizeOrType != 0 {
			result := p.use(t.SizeOrType, depth)
			b.Result = &result
		}
		params := p.blob.ParamsOf(t)
		for i, a := range params {
			if a == (btf.Param{}) && i == len(params)-1 {
				b.Params = append(b.Params, param{use: use{Type: "..."}})
				break
			}
			name := p.name(id, a.NameOff)
			if !p.room(len(name) + line) {
				break
			}
			b.Params = append(b.Params, param{name, p.use(a.Type, depth)})
		}
	case t.Kind.IsEnum():
		b.Size, b.Signed = t.SizeOrType, t.KFlag
		for _, e := range p.blob.EnumsOf(t) {
			name, value := p.name(id, e.NameOff), strconv.FormatUint(e.Value, 10)
			if t.KFlag {
				value = strconv.FormatInt(int64(e.Value), 10)
			}
			if !p.room(len(name) + line) {
				break
			}
			b.Values = append(b.Values, enumerator{name, json.Number(value)})
		}
	default:
		b.Size = t.SizeOrType
		for _, m := range p.blob.MembersOf(t) {
			offset, bits := m.Bits(t.KFlag)
			name := p.name(id, m.NameOff)
			if !p.room(len(name) + line) {
				break
			}
			b.Members = append(b.Members, member{offset / 8, uint8(offset % 8), uint8(bits), name,
				p.use(m.Type, depth)})
		}
	}
	return b
}
