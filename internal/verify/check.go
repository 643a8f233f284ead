// Package verify is the kernel verifier's rules over a BTF blob and its bases.
//
// The rules are those of kernel/bpf/btf.c in Linux 7.2: the form of every record, as btf_check_meta
// wants it, then the references between types, as the resolve phase of BPF_BTF_LOAD wants them.
// Unlike the kernel, Check goes on after the first violation: a type with one is not used to judge
// the types that refer to it.
package verify

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// Scope is who insists on a rule.
type Scope uint8

const (
	// Boot rules hold wherever the kernel reads BTF: its own at boot, a module's, and BPF_BTF_LOAD.
	Boot Scope = iota
	// Load rules hold for BPF_BTF_LOAD, which resolves all references; the kernel trusts its own
	// BTF in these.
	Load
	// Reader rules are those of other readers or of older kernels, named in the violation.
	Reader
	// Order is the rule that types are sorted by name, anonymous ones first, which Linux 7.0 and
	// later rely on in the BTF of the kernel and its modules.
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
	name := v.Name
	if name == "" {
		name = "(anon)"
	}
	return fmt.Sprintf("[%d] %v %s: %s: %s", v.TypeID, v.Kind, printable(name), v.Rule, v.Detail)
}

// MaxViolations is how many violations Check returns at most; then one more says that there are
// others.
const MaxViolations = 10000

// Options chooses what Check looks at. The zero value is the rules of all scopes but Order.
type Options struct {
	// Sorted also checks the order of the types.
	Sorted bool
	// Only keeps the rules of this scope and the ones before it; nil keeps all.
	Only *Scope
	// PointerSize is in bytes; 0 means the size of the INT named long, or 8 if there is none.
	PointerSize uint32
}

// Check returns the violations of b's own types, in the order of their ids (form before
// references). Types of b's bases are taken as they are. Checks are bounded by the size of the
// blob.
func Check(b *btf.Blob, opts Options) []Violation {
	c := &checker{b: b, opts: opts, bad: make([]bool, len(b.Types))}
	c.blobRules()
	for i := range b.Types {
		c.form(uint32(i))
	}
	c.chains()
	c.references(pointerSize(b, opts))
	if opts.Sorted {
		c.order()
	}
	return c.sorted()
}

// checker collects violations.
type checker struct {
	b     *btf.Blob
	opts  Options
	bad   []bool // own types with a violation of Boot or Load
	found []Violation
	more  int
}

// report notes a violation of an own type.
func (c *checker) report(scope Scope, i uint32, rule, format string, args ...any) {
	if scope <= Load {
		c.bad[i] = true
	}
	t := &c.b.Types[i]
	if c.room(scope) {
		c.found = append(c.found, Violation{c.b.StartID + i, t.Kind, c.b.TypeName(t), rule,
			fmt.Sprintf(format, args...), scope})
	}
}

func (c *checker) room(scope Scope) bool {
	if c.opts.Only != nil && scope > *c.opts.Only && scope != Order {
		return false
	}
	if len(c.found) >= MaxViolations {
		c.more++
		return false
	}
	return true
}

func (c *checker) reportBlob(scope Scope, rule, format string, args ...any) {
	if c.room(scope) {
		c.found = append(c.found, Violation{Rule: rule, Detail: fmt.Sprintf(format, args...),
			Scope: scope})
	}
}

// blobRules are the rules on the blob as a whole that Parse leaves open.
func (c *checker) blobRules() {
	b := c.b
	if len(b.Types) == 0 && b.Base == nil {
		c.reportBlob(Boot, "no-types", "the blob holds no type")
	}
	if last := uint64(b.StartID) + uint64(len(b.Types)) - 1; len(b.Types) > 0 &&
		last > btf.MaxLastTypeID {
		c.reportBlob(Boot, "too-many-types", "the last type id is %d, the kernel reads up to %d", last,
			btf.MaxLastTypeID)
	}
	if end := uint64(len(b.Strings)); end > btf.MaxNameOff+1 {
		c.reportBlob(Boot, "strings-too-long", "the string section has %d bytes, the kernel reads %d",
			end, btf.MaxNameOff+1)
	}
	if h := b.Header; h.HdrLen > btf.HeaderLenLayout {
		c.reportBlob(Reader, "header-length", "the header has %d bytes; no reader knows more than %d",
			h.HdrLen, btf.HeaderLenLayout)
	}
}

// sorted is what was found in order of type ids; form stands before references as it was found
// first.
func (c *checker) sorted() []Violation {
	sortByID(c.found)
	if c.more > 0 {
		c.found = append(c.found,
			Violation{Rule: "more", Detail: fmt.Sprintf("%d further violations are not listed", c.more)})
	}
	return c.found
}

// pointerSize guesses as libbpf does: a pointer is as long as a long.
func pointerSize(b *btf.Blob, opts Options) uint32 {
	if opts.PointerSize != 0 {
		return opts.PointerSize
	}
	for ; b != nil; b = b.Base {
		for i := range b.Types {
			t := &b.Types[i]
			if t.Kind != btf.KindInt || t.SizeOrType != 4 && t.SizeOrType != 8 {
				continue
			}
			switch b.TypeName(t) {
			case "long", "long int", "int long", "unsigned long", "long unsigned", "unsigned long int", "long unsigned int", "int long unsigned":
				return t.SizeOrType
			}
		}
	}
	return 8
}
