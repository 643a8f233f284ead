// Package verify is the kernel verifier's rules over a BTF blob and its bases.
//
// The rules are those of kernel/bpf/btf.c in Linux 7.2: the form of each record (btf_check_meta),
// then the references between types (the resolve phase of BPF_BTF_LOAD). Unlike the kernel, Check
// goes on after the first violation; types that refer to a bad type are not judged.
package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Options chooses what Check checks. The zero value is the rules of all scopes except Order.
type Options struct {
	// Sorted also checks the order of the types.
	Sorted bool
	// Only keeps the rules of this scope and the ones before it; nil keeps all.
	Only *Scope
	// Module says that the BTF is that of a kernel module.
	Module bool
}

// MaxViolations limits the violations that Check returns; one more then has the number of the
// others.
const MaxViolations = 10000

// Check returns the violations of b's own types, in the order of their ids (form before
// references). It trusts the types of b's bases. Its time is limited by the size of the blob.
func Check(b *btf.Blob, opts Options) []Violation {
	c := &checker{b: b, opts: opts, bad: make([]bool, len(b.Types))}
	c.blobRules()
	for i := range b.Types {
		c.form(uint32(i))
	}
	c.chains()
	c.references(b.PointerSize())
	if opts.Sorted {
		c.order()
	}
	return c.sorted()
}

type checker struct {
	b     *btf.Blob
	opts  Options
	bad   []bool // own types with a violation of Boot or Load
	found []Violation
	more  int
}

func (c *checker) report(scope Scope, i uint32, rule, format string, args ...any) {
	if scope <= Load {
		c.bad[i] = true
	}
	t := &c.b.Types[i]
	c.note(Violation{TypeID: c.b.StartID + i, Kind: t.Kind, Rule: rule, Scope: scope}, format, args...)
}

func (c *checker) reportBlob(scope Scope, rule, format string, args ...any) {
	c.note(Violation{Rule: rule, Scope: scope}, format, args...)
}

// note adds a violation, and fills in its name and details.
func (c *checker) note(v Violation, format string, args ...any) {
	switch {
	case c.opts.Only != nil && v.Scope > *c.opts.Only && v.Scope != Order:
	case len(c.found) >= MaxViolations:
		c.more++
	default:
		if t, _ := c.b.ByID(v.TypeID); t != nil {
			v.Name = c.b.TypeName(t)
		}
		v.Detail = fmt.Sprintf(format, args...)
		c.found = append(c.found, v)
	}
}

// blobRules checks the rules on the whole blob that Parse doesn't check.
func (c *checker) blobRules() {
	b := c.b
	if len(b.Types) == 0 && b.Base == nil {
		c.reportBlob(Boot, "no-types", "the blob holds no type")
	}
	if c.opts.Module && b.Base == nil {
		c.reportBlob(Boot, "stands-alone", "it stands alone, in a kernel module; the kernel reads its "+
			"ids and names as if it were based on vmlinux's")
	}
	last := uint64(b.StartID) + uint64(len(b.Types)) - 1
	if len(b.Types) > 0 && last > btf.MaxLastTypeID {
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

// order checks that anonymous types come first and named ones are in strcmp order.
func (c *checker) order() {
	prev := ""
	for i := range c.b.Types {
		s := c.b.TypeName(&c.b.Types[i])
		if s < prev {
			c.report(Order, uint32(i), "order",
				"it comes after %q, which sorts after it; Linux 7.0 and later find types by binary search",
				prev)
		}
		prev = s
	}
}

// sorted returns the violations by type id; those of a type stay in order, form first.
func (c *checker) sorted() []Violation {
	slices.SortStableFunc(c.found,
		func(a, b Violation) int { return cmp.Compare(a.TypeID, b.TypeID) })
	if c.more > 0 {
		c.found = append(c.found,
			Violation{Rule: "more", Detail: fmt.Sprintf("%d further violations are not listed", c.more)})
	}
	return c.found
}
