package convert

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// dumper writes BTF as lines of C, one line per named type, function or variable. It reads BTF with
// cilium/ebpf, so the lines show what an independent BTF reader sees.
//
//	struct s { int a @0; unsigned int b:3 @32; } 8     members at bit offsets, size in bytes
//	struct s;                                          a forward declaration
//	enum e { A = 0, B = 1 } 4 unsigned
//	typedef int (*fn)(void);
//	int f(char *p);                                    a function
//	var static int v;                                  a variable
//	section .data..percpu { v @0 4; }
//
// Anonymous types are written where they are used. So are the members of a tag with several
// definitions; within these members, the tag itself is written as (self). Base types have lines
// only if bases is set. [x] are declaration tags, [[x]] type tags.
type dumper struct {
	bases bool
	count map[string]int // definitions by name
	open  []btf.Type     // types whose bodies are being written
}

// dump reads a raw BTF blob.
func dump(t testing.TB, blob []byte, bases bool) []string {
	t.Helper()
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(blob))
	if err != nil {
		t.Fatalf("cilium/ebpf can't read the BTF: %v", err)
	}
	d := &dumper{bases: bases, count: map[string]int{}}
	var all []btf.Type
	for typ, err := range spec.All() {
		must.OK(t, err)
		all = append(all, typ)
		switch typ.(type) {
		case *btf.Struct, *btf.Union, *btf.Enum, *btf.Fwd:
			d.count[typ.TypeName()]++
		}
	}
	var lines []string
	for _, typ := range all {
		if l := d.line(typ); l != "" {
			lines = append(lines, l)
		}
	}
	slices.Sort(lines)
	return lines
}

// line returns the line of a type, or "" if the type has none.
func (d *dumper) line(typ btf.Type) string {
	switch typ := typ.(type) {
	case *btf.Struct:
		if typ.Name != "" {
			return d.body(typ) + d.tags(typ.Tags)
		}
	case *btf.Union:
		if typ.Name != "" {
			return d.body(typ) + d.tags(typ.Tags)
		}
	case *btf.Enum:
		return d.body(typ)
	case *btf.Fwd:
		return fmt.Sprintf("%v %s;", typ.Kind, typ.Name)
	case *btf.Typedef:
		return "typedef " + d.decl(typ.Type, typ.Name) + d.tags(typ.Tags) + ";"
	case *btf.Func:
		return d.function(typ)
	case *btf.Var:
		return fmt.Sprintf("var %v %s%s;", typ.Linkage, d.decl(typ.Type, typ.Name), d.tags(typ.Tags))
	case *btf.Datasec:
		s := "section " + typ.Name + " {"
		for _, v := range typ.Vars {
			s += fmt.Sprintf(" %s @%d %d;", v.Type.TypeName(), v.Offset, v.Size)
		}
		return s + fmt.Sprintf(" } %d", typ.Size)
	case *btf.Int:
		if d.bases {
			return fmt.Sprintf("int %q %d %v", typ.Name, typ.Size, typ.Encoding)
		}
	case *btf.Float:
		if d.bases {
			return fmt.Sprintf("float %q %d", typ.Name, typ.Size)
		}
	}
	return ""
}

func (d *dumper) function(f *btf.Func) string {
	p := f.Type.(*btf.FuncProto)
	s := d.decl(p.Return, f.Name+"("+d.params(p, f.ParamTags)+")") + d.tags(f.Tags) + ";"
	if f.Linkage != btf.StaticFunc {
		s = f.Linkage.String() + " " + s
	}
	return s
}

func (d *dumper) tags(list []string) string {
	s := ""
	for _, t := range slices.Sorted(slices.Values(list)) { // the order has no meaning
		s += " [" + t + "]"
	}
	return s
}

// body writes a definition with its content.
func (d *dumper) body(typ btf.Type) string {
	d.open = append(d.open, typ)
	defer func() { d.open = d.open[:len(d.open)-1] }()
	var s strings.Builder
	switch typ := typ.(type) {
	case *btf.Struct:
		fmt.Fprintf(&s, "struct %s{%s } %d", spaced(typ.Name), d.members(typ.Members), typ.Size)
	case *btf.Union:
		fmt.Fprintf(&s, "union %s{%s } %d", spaced(typ.Name), d.members(typ.Members), typ.Size)
	case *btf.Enum:
		var values []string
		for _, v := range typ.Values {
			if typ.Signed {
				values = append(values, fmt.Sprintf("%s = %d", v.Name, int64(v.Value)))
			} else {
				values = append(values, fmt.Sprintf("%s = %d", v.Name, v.Value))
			}
		}
		sign := " unsigned"
		if typ.Signed {
			sign = " signed"
		}
		fmt.Fprintf(&s, "enum %s{ %s } %d%s", spaced(typ.Name), strings.Join(values, ", "), typ.Size,
			sign)
	}
	return s.String()
}

func spaced(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

func (d *dumper) members(list []btf.Member) string {
	s := ""
	for _, m := range list {
		s += " " + d.decl(m.Type, m.Name)
		if m.BitfieldSize != 0 {
			s += fmt.Sprintf(":%d", m.BitfieldSize)
		}
		s += fmt.Sprintf(" @%d%s;", m.Offset, d.tags(m.Tags))
	}
	return s
}

func (d *dumper) params(p *btf.FuncProto, tags [][]string) string {
	var list []string
	for i, a := range p.Params {
		s := d.decl(a.Type, a.Name)
		if _, void := a.Type.(*btf.Void); void && a.Name == "" && i == len(p.Params)-1 {
			s = "..."
		}
		if i < len(tags) {
			s += d.tags(tags[i])
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return "void"
	}
	return strings.Join(list, ", ")
}

// decl writes the declaration of name with type typ.
func (d *dumper) decl(typ btf.Type, name string) string {
	switch typ := typ.(type) {
	case *btf.Void:
		return join("void", name)
	case *btf.Pointer:
		tags := ""
		target := typ.Target
		for {
			t, ok := target.(*btf.TypeTag)
			if !ok {
				break
			}
			tags += "[[" + t.Value + "]] "
			target = t.Type
		}
		s := "*" + tags + name
		switch target.(type) {
		case *btf.Array, *btf.FuncProto:
			s = "(" + s + ")"
		}
		return d.decl(target, s)
	case *btf.Const:
		return d.qualified("const", typ.Type, name)
	case *btf.Volatile:
		return d.qualified("volatile", typ.Type, name)
	case *btf.Restrict:
		return d.qualified("restrict", typ.Type, name)
	case *btf.TypeTag:
		return "[[" + typ.Value + "]] " + d.decl(typ.Type, name)
	case *btf.Array:
		if typ.Index.TypeName() != "int" {
			name += "/* index " + typ.Index.TypeName() + " */"
		}
		return d.decl(typ.Type, fmt.Sprintf("%s[%d]", name, typ.Nelems))
	case *btf.FuncProto:
		return d.decl(typ.Return, name+"("+d.params(typ, nil)+")")
	case *btf.Struct, *btf.Union, *btf.Enum, *btf.Fwd:
		if n := typ.TypeName(); n != "" && d.count[n] == 1 {
			return join(keyword(typ)+" "+n, name)
		}
		if slices.Contains(d.open, typ) {
			return join(keyword(typ)+" "+typ.TypeName()+"(self)", name)
		}
		if _, fwd := typ.(*btf.Fwd); fwd {
			return join(keyword(typ)+" "+typ.TypeName()+"(declared)", name)
		}
		return join(d.body(typ), name)
	}
	return join(typ.TypeName(), name)
}

func keyword(typ btf.Type) string {
	switch typ := typ.(type) {
	case *btf.Union:
		return "union"
	case *btf.Enum:
		return "enum"
	case *btf.Fwd:
		return typ.Kind.String()
	}
	return "struct"
}

// qualified puts the qualifier word before a type, but after the star if the type is a pointer.
func (d *dumper) qualified(word string, typ btf.Type, name string) string {
	if _, ok := typ.(*btf.Pointer); ok {
		return d.decl(typ, join(word, name))
	}
	return word + " " + d.decl(typ, name)
}

func join(typ, name string) string {
	if name == "" {
		return typ
	}
	return typ + " " + name
}
