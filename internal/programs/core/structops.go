package core

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// StructOps has the kernel's types for struct_ops maps of one type.
type StructOps struct {
	BTF   *BTF
	ID    uint32 // of the struct, such as tcp_congestion_ops
	Value uint32 // of the struct around it, such as bpf_struct_ops_tcp_congestion_ops
	Data  uint32 // index of the member of Value that is the struct
}

// StructOpsValue returns the name of the kernel's struct that holds the struct with this name in
// struct_ops maps.
func StructOpsValue(name string) string { return "bpf_struct_ops_" + name }

// StructOps returns the kernel's types for struct_ops maps of the type with this name: see
// find_struct_ops_kern_types. The index must have this name and StructOpsValue(name). An error says
// what the kernel lacks.
func (k *Index) StructOps(name string) (StructOps, error) {
	values := k.Find(StructOpsValue(name), btf.KindStruct)
	if len(values) == 0 {
		return StructOps{}, fmt.Errorf("the kernel has no struct %s", StructOpsValue(name))
	}
	in := values[0].BTF
	for _, c := range k.Find(name, btf.KindStruct) {
		if c.BTF != in && c.BTF != k.Vmlinux {
			continue
		}
		t, of := in.ByID(values[0].ID)
		for i, m := range of.MembersOf(t) {
			if m.Type == c.ID {
				return StructOps{in, c.ID, values[0].ID, uint32(i)}, nil
			}
		}
		return StructOps{}, fmt.Errorf("struct %s has no member of type struct %s",
			StructOpsValue(name), name)
	}
	return StructOps{}, fmt.Errorf("the kernel has no struct %s", name)
}

// Member returns the struct's first member with this name, and the index of this member.
func (o StructOps) Member(name string) (m btf.Member, index uint32, found bool) {
	t, of := o.BTF.ByID(o.ID)
	for i, m := range of.MembersOf(t) {
		if other, _ := o.BTF.Name(m.NameOff); other == name {
			return m, uint32(i), true
		}
	}
	return btf.Member{}, 0, false
}

// Differs says why a member of the local struct makes libbpf refuse a struct_ops map. It returns ""
// if libbpf doesn't refuse the map, or if the kernel has no such member: see
// bpf_map__init_kern_struct_ops.
func (o StructOps) Differs(local *BTF, id uint32, index int) string {
	lt, lof := local.ByID(id)
	lm := lof.MembersOf(lt)[index]
	name, _ := local.Name(lm.NameOff)
	km, at, found := o.Member(name)
	if !found {
		return ""
	}
	text := fmt.Sprintf("the member %s ", name)
	kt, kof := o.BTF.ByID(o.ID)
	_, lbits := lm.Bits(lt.KFlag)
	_, kbits := kof.MembersOf(kt)[at].Bits(kt.KFlag)
	if lbits > 0 || kbits > 0 {
		return text + "is a bitfield"
	}
	lid, l, _ := local.Skip(lm.Type)
	kid, k, _ := o.BTF.Skip(km.Type)
	if kindOf(l) != kindOf(k) {
		return fmt.Sprintf("%sis %s, where the program has %s", text, kindText(o.BTF, kid),
			kindText(local, lid))
	}
	if kindOf(l) == btf.KindPtr {
		return ""
	}
	lsize, lerr := local.SizeOf(lid)
	ksize, kerr := o.BTF.SizeOf(kid)
	if lerr != nil || kerr != nil || lsize != ksize {
		return fmt.Sprintf("%shas %d bytes, where the program has %d", text, ksize, lsize)
	}
	return ""
}

// Callback returns the prototype of a member that is a pointer to a function, or 0 if the member is
// something else.
func (o StructOps) Callback(m btf.Member) uint32 {
	_, t, _ := o.BTF.Skip(m.Type)
	if kindOf(t) != btf.KindPtr {
		return 0
	}
	id, t, _ := o.BTF.Skip(t.SizeOrType)
	if kindOf(t) != btf.KindFuncProto {
		return 0
	}
	return id
}
