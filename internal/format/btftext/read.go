package btftext

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// again says what to do after an error.
const again = `make the reference again, with "btfdedup dump --format=kabi" or ` +
	`"bazel run NAME.update"`

// Read reads a reference.
func Read(data []byte) (*btf.Blob, error) {
	doc, err := decode(data)
	if err == nil {
		err = doc.check()
	}
	var b *btf.Blob
	if err == nil {
		b, err = doc.blob()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, again)
	}
	return b, nil
}

// decode reads a reference, but doesn't check the sums.
func decode(data []byte) (doc document, err error) {
	switch {
	case len(data) > maxText:
		return doc, fmt.Errorf("more than the limit of %d bytes", maxText)
	case bytes.HasPrefix(data, []byte(mark)):
		return doc, errors.New("begins with a byte order mark; save it without one")
	case bytes.HasPrefix(data, []byte(oldMagic)):
		return doc, errors.New("a reference of an older version, which can't be read any more")
	case !bytes.HasPrefix(data, fmt.Appendf(nil, "%s%d,", magic, version)):
		return doc, fmt.Errorf("not a reference of version %d", version)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err = d.Decode(&doc); err == nil {
		if _, err := d.Token(); err != io.EOF {
			return doc, lineError(data, d.InputOffset(), "expected the end of the file")
		}
		return doc, nil
	}
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return doc, lineError(data, syntax.Offset-1, err.Error())
	case errors.As(err, &value):
		return doc, lineError(data, value.Offset-1, "unexpected "+value.Value)
	case err == io.ErrUnexpectedEOF:
		return doc, lineError(data, int64(len(data)), "the file is truncated")
	}
	return doc, errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func lineError(data []byte, offset int64, text string) error {
	offset = max(0, min(offset, int64(len(data))))
	return fmt.Errorf("line %d: %s", 1+bytes.Count(data[:offset], []byte("\n")), text)
}

// check compares the sums.
func (doc *document) check() error {
	const edited = "its content doesn't have this sum: a line was edited, deleted or repeated"
	if doc.withSum() != doc.header {
		return errors.New("line 2: " + edited)
	}
	for _, d := range doc.Types {
		if d.withSum().Sum != d.Sum {
			return fmt.Errorf("%s: %s", d.title(), edited)
		}
	}
	return nil
}

// blob makes BTF. The types with names get the first ids, in the order of the document.
func (doc *document) blob() (*btf.Blob, error) {
	var byteOrder binary.ByteOrder = binary.LittleEndian
	if doc.BigEndian {
		byteOrder = binary.BigEndian
	}
	r := &reader{Builder: btf.NewBuilder(byteOrder, nil, nil), named: map[string]uint32{},
		known: map[string]uint32{}}
	for i := range doc.Types {
		key := doc.Types[i].key()
		if key == "" {
			continue
		}
		if r.named[key] != 0 {
			return nil, fmt.Errorf("%s is defined twice", doc.Types[i].title())
		}
		r.named[key] = uint32(i + 1)
	}
	r.Blob.Types = make([]btf.Type, len(doc.Types))
	for i := range doc.Types {
		id := r.define(&doc.Types[i])
		if r.err != nil {
			return nil, fmt.Errorf("%s: %w", doc.Types[i].title(), r.err)
		}
		// The type has just been added at the end.
		r.Blob.Types[i] = r.Blob.Types[id-1]
		r.Blob.Types = r.Blob.Types[:id-1]
	}
	if doc.Count != len(doc.Types) {
		return nil, fmt.Errorf("%s, but according to line 2, there should be %d",
			message.Count(len(doc.Types), "type"), doc.Count)
	}
	return r.Finish(), nil
}

type reader struct {
	*btf.Builder
	named map[string]uint32 // ids by key
	known map[string]uint32 // ids of types without a Body, as written
	err   error             // the first error
}

func (r *reader) failf(format string, args ...any) uint32 {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	return 0
}

// define adds the type of a definition as the last one.
func (r *reader) define(d *definition) uint32 {
	body := d.Body
	if body == nil {
		body = &Body{}
	}
	switch d.Kind {
	case "func":
		proto := r.body(d.Kind, "", body, 0)
		return r.Func(d.Name, proto, btf.LinkageGlobal)
	case "var":
		return r.Var(d.Name, r.resolve(d.Type, d.Body, 0), btf.LinkageGlobal)
	case "typedef":
		return r.Ref(btf.KindTypedef, d.Name, r.resolve(d.Type, d.Body, 0))
	case "int":
		extra := uint32(d.Bit)<<16 | uint32(d.Bits)
		for i, set := range []bool{body.Signed, d.Char, d.Bool} {
			if set {
				extra |= 1 << i << 24
			}
		}
		return r.Add(btf.Type{Kind: btf.KindInt, NameOff: r.Name(d.Name), SizeOrType: body.Size,
			Extra: extra})
	case "float":
		return r.Float(d.Name, body.Size)
	}
	if d.Declared {
		return r.Fwd(d.Name, d.Kind == "union")
	}
	return r.body(d.Kind, d.Name, body, 0)
}

// resolve returns the id of a type as it is written where it is used. It adds what isn't yet there.
func (r *reader) resolve(text string, body *Body, depth int) uint32 {
	if depth > maxDepth {
		return r.failf("more than %d types without a name are nested in each other", maxDepth)
	}
	if id, ok := r.known[text]; ok && body == nil {
		return id
	}
	t, inside, rest := cut(text)
	var id uint32
	switch t.Kind {
	case btf.KindVoid:
		id = r.base(text, body, depth)
	case btf.KindArray:
		n, err := strconv.ParseUint(inside, 10, 32)
		if err != nil {
			return r.failf("%q is not an array", text)
		}
		id = r.Array(r.resolve(rest, body, depth+1), r.base(Index, nil, depth), uint32(n))
	default:
		t.NameOff, t.SizeOrType = r.Name(inside), r.resolve(rest, body, depth+1)
		id = r.Add(t)
	}
	if body == nil {
		r.known[text] = id
	}
	return id
}

// base returns the type that follows all operators.
func (r *reader) base(text string, body *Body, depth int) uint32 {
	switch text {
	case "void":
		return 0
	case "struct", "union", "enum", "enum64", "func":
		if body == nil {
			body = &Body{}
		}
		return r.body(text, "", body, depth+1)
	}
	id := r.named[text]
	if id == 0 {
		r.failf("it refers to %q, which the reference doesn't have", text)
	}
	return id
}

// body adds a struct, union, enum or prototype.
func (r *reader) body(word, name string, b *Body, depth int) uint32 {
	switch word {
	case "func":
		var params []btf.Param
		for i, p := range b.Params {
			a := btf.Param{NameOff: r.Name(p.Name)}
			if p.Type != "..." || i < len(b.Params)-1 {
				a.Type = r.resolve(p.Type, p.Body, depth)
			}
			params = append(params, a)
		}
		result := uint32(0)
		if b.Result != nil {
			result = r.resolve(b.Result.Type, b.Result.Body, depth)
		}
		return r.FuncProto(result, params...)
	case "enum":
		return r.Enum(btf.KindEnum, name, b.Size, b.Signed, r.values(b, 32)...)
	case "enum64":
		return r.Enum(btf.KindEnum64, name, b.Size, b.Signed, r.values(b, 64)...)
	case "struct":
		return r.composite(btf.KindStruct, name, b, depth)
	case "union":
		return r.composite(btf.KindUnion, name, b, depth)
	}
	return r.failf("unknown kind %q", word)
}

// values reads enumerators whose values have a number of bits.
func (r *reader) values(b *Body, bits int) (values []btf.Enumerator) {
	for _, e := range b.Values {
		v := btf.Enumerator{NameOff: r.Name(e.Name)}
		var err error
		if b.Signed {
			var n int64
			n, err = strconv.ParseInt(string(e.Value), 10, bits)
			v.Value = uint64(n)
		} else {
			v.Value, err = strconv.ParseUint(string(e.Value), 10, bits)
		}
		if err != nil {
			r.failf("%q has an invalid value", e.Name)
		}
		values = append(values, v)
	}
	return values
}

func (r *reader) composite(kind btf.Kind, name string, b *Body, depth int) uint32 {
	bitfields, largest := false, uint64(1<<32-1)
	for _, m := range b.Members {
		if m.Bits > 0 {
			bitfields, largest = true, 1<<24-1
		}
	}
	var members []btf.Member
	for _, m := range b.Members {
		offset := 8*uint64(m.At) + uint64(m.Bit)
		if m.Bit > 7 || offset > largest {
			r.failf("the member %q has an invalid offset", m.Name)
		}
		members = append(members, btf.Member{NameOff: r.Name(m.Name),
			Type: r.resolve(m.Type, m.Body, depth), Offset: uint32(offset) | uint32(m.Bits)<<24})
	}
	return r.Composite(kind, name, b.Size, bitfields, members...)
}
