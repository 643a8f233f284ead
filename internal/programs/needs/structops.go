package needs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// structOps returns what struct_ops maps need, which is what libbpf compares with the kernel
// (bpf_map__init_kern_struct_ops). A map is listed like a program. It needs its struct, the
// kernel's struct bpf_struct_ops_NAME that holds this struct (core.StructOps), and the members that
// the map sets. A member that the kernel has must have the same kind and size there. A program that
// a map points to needs the struct, and the member that points to the program.
// Rule: struct_ops maps: their needs. Source: libbpf.c bpf_map__init_kern_struct_ops.
func structOps(b builder, o *bpfobj.Object, of map[*bpfobj.Function]*asked) ([]*asked, error) {
	var list []*asked
	for _, m := range o.StructOps {
		a := newAsked(m.Name, m.Section)
		if err := a.structOps(b, m, of); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		list = append(list, a)
	}
	return list, nil
}

func (a *asked) structOps(b builder, m *bpfobj.StructOps, of map[*bpfobj.Function]*asked) error {
	t, in := b.ByID(m.Type)
	name := core.Essential(b.TypeName(t))
	whole := &want{kind: btf.KindStruct, name: name, exact: true}
	programs := 0
	for _, x := range in.MembersOf(t) {
		bit, bits := x.Bits(t.KFlag)
		w, size, err := b.sized(x.Type)
		if err != nil {
			return err
		}
		at := uint64(bit / 8)
		if size > uint64(len(m.Data)) || at > uint64(len(m.Data))-size {
			return fmt.Errorf("a member at %d ends after its struct, which has %d bytes", at, len(m.Data))
		}
		field, _ := b.Name(x.NameOff)
		whole.members = append(whole.members, member{field, bits, w})
		set := Symbol{Kind: Member, Name: name + "." + field}
		program := m.Programs[bit/8]
		switch zero := len(bytes.Trim(m.Data[at:at+size], "\x00")) == 0; {
		case program != nil:
			programs++
			if !b.isCallback(x.Type) || !isStructOps(program.Section) {
				return fmt.Errorf("libbpf refuses %[1]s, which points to %[2]s: either %[1]s is not a "+
					"pointer to a function, or %[2]s is not a struct_ops program", field, program.Name)
			}
			w = &want{kind: btf.KindPtr, ref: &want{kind: btf.KindFuncProto, exact: true}}
			if p := of[program]; p != nil {
				p.addSymbol(Symbol{Kind: StructOps, Name: name}, nil)
				given := set
				given.Args = p.args
				p.addSymbol(given, w)
			}
		case zero:
			continue
		case w.kind == btf.KindPtr:
			return fmt.Errorf("the pointer %s points to no program; libbpf refuses the map", field)
		}
		a.addSymbol(set, w)
	}
	if programs < len(m.Programs) {
		return fmt.Errorf("a pointer to a program is at an offset where struct %s has no member",
			b.TypeName(t))
	}
	slices.SortStableFunc(whole.members, compareMembers)
	a.addSymbol(Symbol{Kind: StructOps, Name: name}, whole)
	return nil
}

// sized returns the part of a type that libbpf compares for members of struct_ops: the kind and,
// except for pointers, the size.
func (b builder) sized(id uint32) (w *want, size uint64, err error) {
	size, err = b.SizeOf(id)
	if err != nil {
		return nil, 0, err
	}
	_, t, _ := b.Skip(id)
	w = &want{kind: t.Kind, size: uint32(size)}
	switch t.Kind {
	case btf.KindPtr:
		w.size = 0
	case btf.KindInt:
		w.name, w.extra = integers[size], uint32(size)*8
	case btf.KindFloat:
		w.name = "float"
	case btf.KindArray:
		w.size, w.nelems = 0, uint32(size)
		w.ref = &want{kind: btf.KindInt, name: "char", size: 1, extra: 8}
	}
	return w, size, nil
}

// integers has the names of integers by their size.
var integers = map[uint64]string{1: "char", 2: "short", 4: "int", 8: "long", 16: "__int128"}

// isCallback reports whether a type is a pointer to a function.
func (b builder) isCallback(id uint32) bool {
	_, t, _ := b.Skip(id)
	if t == nil || t.Kind != btf.KindPtr {
		return false
	}
	_, t, _ = b.Skip(t.SizeOrType)
	return t != nil && t.Kind == btf.KindFuncProto
}

// isStructOps reports whether the programs of a section are of type struct_ops.
func isStructOps(section string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(section, "?"), "/")
	return name == "struct_ops" || name == "struct_ops.s"
}
