// Package content reads BTF through cilium/ebpf, a reader that shares no code
// with the tools under test, and says what each named thing in it contains.
//
// Two blobs with the same meaning differ in ids, order and string offsets.
// Here every named type, function, variable and section becomes a line of
// text that has none of these: anonymous types are written out, named ones are
// written as their kind and name. A name with several definitions has several
// texts.
package content

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// Class is the kind of a named thing, with the kinds that C keeps in one
// name space held together.
type Class string

// The classes in the order in which reports print them.
const (
	Int     Class = "int"
	Float   Class = "float"
	Struct  Class = "struct"
	Union   Class = "union"
	Enum    Class = "enum"
	Typedef Class = "typedef"
	Forward Class = "forward"
	Var     Class = "variable"
	Section Class = "section"
	Func    Class = "function"
)

// Classes lists every class in report order.
var Classes = []Class{Int, Float, Struct, Union, Enum, Typedef, Forward, Var, Section, Func}

// Contents is what a blob defines and what its definitions refer to.
type Contents struct {
	// Definitions holds, for each class and name, the sorted distinct texts.
	Definitions map[Class]map[string][]string
	// References has what the definitions refer to by name: base types as they
	// are called, tagged types as "struct name".
	References map[string]bool
}

// Load reads a raw BTF file, or an ELF file's .BTF section. bases is the chain
// of blobs it is split against, outermost first; their types can be referred
// to and are not part of the result.
func Load(path string, bases ...string) (*Contents, error) {
	var spec *btf.Spec
	var err error
	for _, p := range append(append([]string{}, bases...), path) {
		if spec, err = loadOne(p, spec); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return Of(spec)
}

func loadOne(path string, base *btf.Spec) (*btf.Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if base == nil {
		return btf.LoadSpecFromReader(f)
	}
	return btf.LoadSplitSpecFromReader(f, base)
}

// Of returns the contents of spec without those of its base.
func Of(spec *btf.Spec) (*Contents, error) {
	w := writer{memo: map[btf.Type]string{}, references: map[string]bool{}}
	c := &Contents{Definitions: map[Class]map[string][]string{}, References: w.references}
	defined := map[string]bool{}
	var forwards []string
	for t, err := range spec.All() {
		if err != nil {
			return nil, err
		}
		class, name, text := w.named(t)
		switch {
		case name == "" || class == "":
			continue
		case class == Forward:
			forwards = append(forwards, text)
			continue
		case class == Struct || class == Union:
			defined[string(class)+" "+name] = true
		}
		c.add(class, name, text)
	}
	// A forward declaration beside a definition of its tag says nothing of its own.
	for _, f := range forwards {
		if !defined[f] {
			c.add(Forward, f, f)
		}
	}
	c.normalize()
	return c, nil
}

func (c *Contents) add(class Class, name, text string) {
	if c.Definitions[class] == nil {
		c.Definitions[class] = map[string][]string{}
	}
	c.Definitions[class][name] = append(c.Definitions[class][name], text)
}

func (c *Contents) normalize() {
	for _, names := range c.Definitions {
		for name, texts := range names {
			sort.Strings(texts)
			distinct := texts[:0]
			for i, t := range texts {
				if i == 0 || t != texts[i-1] {
					distinct = append(distinct, t)
				}
			}
			names[name] = distinct
		}
	}
}

type writer struct {
	memo       map[btf.Type]string // what ref wrote for types without a name
	references map[string]bool
}

// named classifies t and writes its whole definition. Class "" means that t
// has no name of its own.
func (w *writer) named(t btf.Type) (Class, string, string) {
	switch t := t.(type) {
	case *btf.Int:
		return Int, t.Name, w.define(t)
	case *btf.Float:
		return Float, t.Name, w.define(t)
	case *btf.Struct:
		return Struct, t.Name, w.define(t)
	case *btf.Union:
		return Union, t.Name, w.define(t)
	case *btf.Enum:
		return Enum, t.Name, w.define(t)
	case *btf.Fwd:
		return Forward, t.Name, w.define(t)
	case *btf.Typedef:
		return Typedef, t.Name, w.define(t)
	case *btf.Var:
		return Var, t.Name, w.define(t)
	case *btf.Datasec:
		return Section, t.Name, w.define(t)
	case *btf.Func:
		return Func, t.Name, w.define(t)
	}
	return "", "", ""
}

// ref writes a reference to t: kind and name for what has a tag or a typedef
// name, else the definition.
func (w *writer) ref(t btf.Type) string {
	if name := reference(t); name != "" {
		w.references[name] = true
		return name
	}
	s, ok := w.memo[t]
	if !ok {
		s = w.define(t)
		w.memo[t] = s
	}
	return s
}

// reference is what t is called where it is used, "" if it has no name.
func reference(t btf.Type) string {
	switch t := t.(type) {
	case nil, *btf.Void:
		return "void"
	case *btf.Int:
		return t.Name
	case *btf.Float:
		return t.Name
	case *btf.Typedef:
		return "typedef " + t.Name
	case *btf.Fwd:
		return forward(t)
	case *btf.Struct:
		if t.Name != "" {
			return "struct " + t.Name
		}
	case *btf.Union:
		if t.Name != "" {
			return "union " + t.Name
		}
	case *btf.Enum:
		if t.Name != "" {
			return "enum " + t.Name
		}
	}
	return ""
}

func forward(t *btf.Fwd) string {
	if t.Kind == btf.FwdUnion {
		return "union " + t.Name
	}
	return "struct " + t.Name
}

// define writes out the definition of t.
func (w *writer) define(t btf.Type) string {
	switch t := t.(type) {
	case *btf.Int:
		return fmt.Sprintf("int %s size=%d %s", t.Name, t.Size, t.Encoding)
	case *btf.Float:
		return fmt.Sprintf("float %s size=%d", t.Name, t.Size)
	case *btf.Pointer:
		return "*" + w.ref(t.Target)
	case *btf.Array:
		return fmt.Sprintf("[%d by %s]%s", t.Nelems, w.ref(t.Index), w.ref(t.Type))
	case *btf.Const:
		return "const " + w.ref(t.Type)
	case *btf.Volatile:
		return "volatile " + w.ref(t.Type)
	case *btf.Restrict:
		return "restrict " + w.ref(t.Type)
	case *btf.TypeTag:
		return "tag(" + t.Value + ") " + w.ref(t.Type)
	case *btf.Struct:
		return fmt.Sprintf("struct %s size=%d%s %s", t.Name, t.Size, tags(t.Tags), w.members(t.Members))
	case *btf.Union:
		return fmt.Sprintf("union %s size=%d%s %s", t.Name, t.Size, tags(t.Tags), w.members(t.Members))
	case *btf.Enum:
		return enum(t)
	case *btf.Typedef:
		return fmt.Sprintf("typedef %s%s = %s", t.Name, tags(t.Tags), w.ref(t.Type))
	case *btf.Func:
		return w.function(t)
	case *btf.FuncProto:
		return w.proto(t, nil, "")
	case *btf.Var:
		return fmt.Sprintf("var %s %s%s %s", t.Name, t.Linkage, tags(t.Tags), w.ref(t.Type))
	case *btf.Datasec:
		return w.section(t)
	case *btf.Fwd:
		return forward(t)
	}
	return fmt.Sprintf("%T", t)
}

func (w *writer) members(ms []btf.Member) string {
	var b strings.Builder
	b.WriteString("{")
	for _, m := range ms {
		fmt.Fprintf(&b, " %s@%d", m.Name, m.Offset)
		if m.BitfieldSize != 0 {
			fmt.Fprintf(&b, ":%d", m.BitfieldSize)
		}
		fmt.Fprintf(&b, "%s %s;", tags(m.Tags), w.ref(m.Type))
	}
	b.WriteString(" }")
	return b.String()
}

func enum(t *btf.Enum) string {
	var b strings.Builder
	fmt.Fprintf(&b, "enum %s size=%d signed=%t {", t.Name, t.Size, t.Signed)
	for _, v := range t.Values {
		fmt.Fprintf(&b, " %s=%#x", v.Name, v.Value)
	}
	b.WriteString(" }")
	return b.String()
}

func (w *writer) function(t *btf.Func) string {
	p, ok := t.Type.(*btf.FuncProto)
	if !ok {
		return fmt.Sprintf("func %s of %T", t.Name, t.Type)
	}
	return fmt.Sprintf("func %s %s%s %s", t.Name, t.Linkage, tags(t.Tags),
		w.proto(p, t.ParamTags, Unnamed))
}

// Unnamed stands in a function's text for the name of a parameter that has none.
const Unnamed = "<unnamed>"

func (w *writer) proto(p *btf.FuncProto, paramTags [][]string, unnamed string) string {
	var b strings.Builder
	b.WriteString("(")
	for i, a := range p.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		if i < len(paramTags) {
			b.WriteString(tags(paramTags[i]))
		}
		name := a.Name
		if name == "" {
			name = unnamed
			if _, void := a.Type.(*btf.Void); void && i == len(p.Params)-1 {
				name = "..." // a variadic function ends so
			}
		}
		b.WriteString(name + " " + w.ref(a.Type))
	}
	b.WriteString(") " + w.ref(p.Return))
	return b.String()
}

func (w *writer) section(t *btf.Datasec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "section %s size=%d {", t.Name, t.Size)
	for _, v := range t.Vars {
		fmt.Fprintf(&b, " %#x+%d %s;", v.Offset, v.Size, v.Type.TypeName())
	}
	b.WriteString(" }")
	return b.String()
}

func tags(ts []string) string {
	if len(ts) == 0 {
		return ""
	}
	sorted := append([]string(nil), ts...)
	sort.Strings(sorted)
	return " {" + strings.Join(sorted, ",") + "}"
}
