package verify

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Scope says who applies a rule: a part of the kernel, or another reader of BTF.
type Scope uint8

const (
	// Boot rules apply to all BTF that the kernel reads: its own, the BTF of modules, and BTF
	// loaded with BPF_BTF_LOAD.
	Boot Scope = iota
	// Load rules apply to BTF loaded with BPF_BTF_LOAD, which resolves all references. The kernel
	// doesn't apply these rules to its own BTF.
	Load
	// Reader rules apply to other readers or older kernels, which the violation names.
	Reader
	// Order is the rule that anonymous types come first, and named types are sorted by name. The
	// BTF of Linux 7.0 and later, and of its modules, has that order.
	Order
)

// Violation is a violated rule.
type Violation struct {
	TypeID uint32   // 0 for the blob as a whole
	Kind   btf.Kind // kind of the type
	Name   string   // name of the type, cut off if it is too long; "" if it has none
	Rule   string   // short fixed name of the rule, such as "member-bounds"
	Detail string   // what is wrong, with the values
	Scope  Scope
}

// String returns the violation as one line, such as "[12] STRUCT foo: member-bounds: member bar
// ends at byte 24, but the size is 16".
func (v Violation) String() string {
	if v.TypeID == 0 {
		return fmt.Sprintf("%s: %s", v.Rule, v.Detail)
	}
	name := message.Printable(cmp.Or(v.Name, "(anon)"))
	return fmt.Sprintf("[%d] %v %s: %s: %s", v.TypeID, v.Kind, name, v.Rule, v.Detail)
}

func label(name string, n int) string {
	if name == "" {
		return "number " + strconv.Itoa(n)
	}
	return message.Printable(short(name))
}
