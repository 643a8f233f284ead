package verify

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Scope is who applies a rule.
type Scope uint8

const (
	// Boot rules hold wherever the kernel reads BTF: its own at boot, a module's, and BPF_BTF_LOAD.
	Boot Scope = iota
	// Load rules hold for BPF_BTF_LOAD, which resolves all references. The kernel doesn't apply them
	// to its own BTF.
	Load
	// Reader rules are those of other readers or of older kernels, named in the violation.
	Reader
	// Order is the rule that types are sorted by name, anonymous ones first. Linux 7.0 and later rely
	// on it in the BTF of the kernel and its modules.
	Order
)

// Violation is one broken rule.
type Violation struct {
	TypeID uint32   // 0 for the blob as a whole
	Kind   btf.Kind // of the type
	Name   string   // of the type, "" if it has none
	Rule   string   // a short fixed name, such as "member-bounds"
	Detail string   // what is wrong, with the values
	Scope  Scope
}

// String is the violation as one line: "[12] STRUCT foo: member-bounds: member bar ends at byte 24,
// the size is 16".
func (v Violation) String() string {
	if v.TypeID == 0 {
		return fmt.Sprintf("%s: %s", v.Rule, v.Detail)
	}
	name := message.Printable(cmp.Or(v.Name, "(anon)"))
	return fmt.Sprintf("[%d] %v %s: %s: %s", v.TypeID, v.Kind, name, v.Rule, v.Detail)
}

// label names an element in a message.
func label(name string, n int) string {
	if name == "" {
		return "number " + strconv.Itoa(n)
	}
	return message.Printable(name)
}
