// Package content writes the content of BTF as text that tests can compare. It reads BTF through
// cilium/ebpf, a reader that shares no code with the tools under test.
//
// Two blobs with the same meaning may differ in type ids, in the order of types, and in string
// offsets. So the package turns every named type, function, variable and section into a text that
// depends on none of these. In a text, references to named types are kinds and names, and anonymous
// types are written in full. If a name has several definitions, it has several texts.
package content

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// Class is a class of definitions. Only definitions of the same class and name are compared.
type Class string

// The classes.
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

	Nameless Class = "anonymous" // types without a name; not in Contents
)

// Classes lists the classes that are compared, in the order in which reports show them.
var Classes = []Class{Int, Float, Struct, Union, Enum, Typedef, Forward, Var, Section, Func}

// Contents holds the definitions in a blob, and the names to which these definitions refer.
type Contents struct {
	// Definitions holds, for each class and name, the distinct texts, sorted.
	Definitions map[Class]map[string][]string
	// References has the names to which the definitions refer, such as "struct s", "typedef t" or,
	// without a kind, "int".
	References map[string]bool
}

// Load reads a raw BTF file, or the section .BTF of an ELF file. If this is split BTF, bases are
// its bases' files, deepest first; the types in the bases are not part of the result.
func Load(path string, bases ...string) (*Contents, error) {
	var spec *btf.Spec
	var err error
	for _, p := range append(append([]string{}, bases...), path) {
		if spec, err = Open(p, spec); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return Of(spec)
}

// Open reads a raw BTF file, or the section .BTF of an ELF file. If this is split BTF, base is its
// base; otherwise base is nil.
func Open(path string, base *btf.Spec) (*btf.Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, base)
}

// Read is like Open, but reads from r instead of from a file.
func Read(r io.ReaderAt, base *btf.Spec) (*btf.Spec, error) {
	if base == nil {
		return btf.LoadSpecFromReader(r)
	}
	return btf.LoadSplitSpecFromReader(r, base)
}

// Types returns the types in spec, without the types in its base.
func Types(spec *btf.Spec) ([]btf.Type, error) {
	var all []btf.Type
	for t, err := range spec.All() {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// Of returns the contents of spec, without the contents of its base.
func Of(spec *btf.Spec) (*Contents, error) {
	w := writer{memo: map[btf.Type]string{}, references: map[string]bool{}}
	c := &Contents{Definitions: map[Class]map[string][]string{}, References: w.references}
	defined := map[string]bool{}
	var forwards []string
	for t, err := range spec.All() {
		if err != nil {
			return nil, err
		}
		class, name := NameOf(t)
		if name == "" {
			continue
		}
		text := w.define(t)
		switch {
		case class == Forward:
			forwards = append(forwards, text)
			continue
		case class == Struct || class == Union:
			defined[string(class)+" "+name] = true
		}
		c.add(class, name, text)
	}
	// If a struct or union is defined, its forward declaration is left out.
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

// Shape returns the text of t's definition, with @ in place of each reference, and the types to
// which t refers, in the order of the references.
func Shape(t btf.Type) (text string, refs []btf.Type) {
	w := writer{refs: &refs}
	text = w.define(t)
	return text, refs
}

// Text returns the text of t's definition.
func Text(t btf.Type) string {
	w := writer{memo: map[btf.Type]string{}, references: map[string]bool{}}
	return w.define(t)
}

// NameOf returns the class and the name of t. The class is "" for kinds that never have a name,
// such as pointers. The name is "" for anonymous types.
func NameOf(t btf.Type) (Class, string) {
	switch t.(type) {
	case *btf.Int:
		return Int, t.TypeName()
	case *btf.Float:
		return Float, t.TypeName()
	case *btf.Struct:
		return Struct, t.TypeName()
	case *btf.Union:
		return Union, t.TypeName()
	case *btf.Enum:
		return Enum, t.TypeName()
	case *btf.Fwd:
		return Forward, t.TypeName()
	case *btf.Typedef:
		return Typedef, t.TypeName()
	case *btf.Var:
		return Var, t.TypeName()
	case *btf.Datasec:
		return Section, t.TypeName()
	case *btf.Func:
		return Func, t.TypeName()
	}
	return "", ""
}

type writer struct {
	memo       map[btf.Type]string // the results of ref for types without a name
	references map[string]bool
	refs       *[]btf.Type // if set, ref appends its argument to this list, and returns "@"
}

// ref returns the text of a reference to t: t's kind and name, or, without a name, t's definition.
func (w *writer) ref(t btf.Type) string {
	if w.refs != nil {
		*w.refs = append(*w.refs, t)
		return "@"
	}
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

// reference returns the text by which other texts refer to t, or "" if t has no name.
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

// Tag returns the kind and name of a struct, union or enum, which may be only declared. For other
// types, it returns "".
func Tag(t btf.Type) string {
	if t.TypeName() == "" {
		return ""
	}
	switch t := t.(type) {
	case *btf.Struct, *btf.Union, *btf.Enum:
		return reference(t)
	case *btf.Fwd:
		return forward(t)
	}
	return ""
}

func forward(t *btf.Fwd) string {
	if t.Kind == btf.FwdUnion {
		return "union " + t.Name
	}
	return "struct " + t.Name
}

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
		return w.composite("struct", t.Name, t.Size, t.Tags, t.Members)
	case *btf.Union:
		return w.composite("union", t.Name, t.Size, t.Tags, t.Members)
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

func (w *writer) composite(
	kind, name string, size uint32, declTags []string, ms []btf.Member,
) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s size=%d%s {", kind, name, size, tags(declTags))
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
		w.proto(p, t.ParamTags, "<anonymous>"))
}

func (w *writer) proto(p *btf.FuncProto, paramTags [][]string, anonymous string) string {
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
			name = anonymous
			if _, void := a.Type.(*btf.Void); void && i == len(p.Params)-1 {
				name = "..." // the last parameter of a variadic function
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
