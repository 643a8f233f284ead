package check

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

// structOps returns what is wrong with the struct of a struct_ops map, or with a member that a map
// sets. It returns "" if nothing is wrong. Anything wrong is fatal. The kernel must have the struct
// and struct bpf_struct_ops_NAME. Members that the program and the kernel both have must agree in
// kind and size, and must not be bit-fields (Differs). A member that the map sets must exist, and a
// program that it points to may read only the arguments that the kernel passes (slots).
// Rule: struct_ops maps: verdict. Source: libbpf.c find_struct_ops_kern_types,
// bpf_map__init_kern_struct_ops.
func (c *checker) structOps(s needs.Symbol) string {
	ops, err := c.kernel.StructOps(s.BTFName())
	if err != nil {
		return err.Error()
	}
	local, _ := c.needs.Local.ByID(s.Type)
	if s.Kind == needs.StructOps {
		if local == nil || local.Kind != btf.KindStruct {
			return ""
		}
		for i := range local.Vlen {
			if why := ops.Differs(c.needs.Local, s.Type, int(i)); why != "" {
				return why
			}
		}
		return ""
	}
	_, name, _ := strings.Cut(s.Name, ".")
	m, _, found := ops.Member(name)
	if !found {
		return fmt.Sprintf("struct %s has no member %s", s.BTFName(), name)
	}
	if local != nil && local.Kind == btf.KindPtr && ops.Callback(m) == 0 {
		return fmt.Sprintf("the member %s is not a pointer to a function", name)
	}
	return c.slots(s, ops.BTF, ops.Callback(m), 0, false)
}
