// Package verify checks a BTF blob by the rules of the kernel's verifier.
//
// The rules are those in kernel/bpf/btf.c of Linux 7.2: those for the form of each record
// (btf_check_meta), then those for references (the resolve phase of BPF_BTF_LOAD). The rules for
// the kinds of locations are those of Linux 7.4. Unlike the kernel, Check continues after the first
// violation. It skips types that refer to a bad type.
package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Options selects what Check checks. The zero value selects the rules of all scopes except Order.
type Options struct {
	// Sorted selects the scope Order, in addition to the others.
	Sorted bool
	// Only, if not nil, restricts the check to the scope *Only and the scopes before it. If Sorted is
	// set, Order is also checked.
	Only *Scope
	// Module says that the BTF belongs to a kernel module.
	Module bool
}

// MaxViolations is the maximum number of violations that Check returns. If there are more, an
// additional violation says how many were left out.
const MaxViolations = 10000

// Check returns the violations of the types in b, sorted by type id. For each type, violations by
// its own record come before violations by its references. Check assumes that the bases of b are
// valid. The size of b limits its run time.
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
	bad   []bool // the types in b that violate a rule of Boot or Load
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

// note adds a violation, and fills in Name and Detail.
func (c *checker) note(v Violation, format string, args ...any) {
	switch {
	case c.opts.Only != nil && v.Scope > *c.opts.Only && v.Scope != Order:
	case len(c.found) >= MaxViolations:
		c.more++
	default:
		if t, _ := c.b.ByID(v.TypeID); t != nil {
			v.Name = short(c.b.TypeName(t))
		}
		v.Detail = fmt.Sprintf(format, args...)
		c.found = append(c.found, v)
	}
}

// blobRules checks rules that concern the whole blob, except those that Parse checks.
func (c *checker) blobRules() {
	b := c.b
	if len(b.Types) == 0 && b.Base == nil {
		c.reportBlob(Boot, "no-types", "the blob has no types")
	}
	if c.opts.Module && b.Base == nil {
		c.reportBlob(Boot, "stands-alone", "it has no base, but is for a kernel module; the kernel "+
			"reads its ids and names as if it were based on the BTF of vmlinux")
	}
	last := uint64(b.StartID) + uint64(len(b.Types)) - 1
	if len(b.Types) > 0 && last > btf.MaxLastTypeID {
		c.reportBlob(Boot, "too-many-types",
			"the last type id is %d, but the kernel reads only up to %d", last, btf.MaxLastTypeID)
	}
	if end := uint64(len(b.Strings)); end > btf.MaxNameOff+1 {
		c.reportBlob(Boot, "strings-too-long", "the string section has %d bytes, but the kernel reads "+
			"only %d", end, btf.MaxNameOff+1)
	}
	h := b.Header
	if h.HdrLen >= btf.HeaderLen && h.HdrLen < btf.HeaderLenLayout && h.StrOff != h.TypeLen {
		c.reportBlob(Boot, "strings-first", "the strings come before the types, which the kernel "+
			"allows only after a header of at least %d bytes", btf.HeaderLenLayout)
	}
	if h.HdrLen > btf.HeaderLenLayout {
		c.reportBlob(Reader, "header-length", "the header has %d bytes, but readers know at most %d",
			h.HdrLen, btf.HeaderLenLayout)
	}
}

// order checks that anonymous types come first, and that named types are in strcmp order.
// Rule: verify: order of the types. Source: kernel btf_check_sorted.
func (c *checker) order() {
	prev := ""
	for i := range c.b.Types {
		s := short(c.b.TypeName(&c.b.Types[i]))
		if s < prev {
			c.report(Order, uint32(i), "order",
				"it comes after %q but sorts before it; Linux 7.0 and later find types by binary search",
				prev)
		}
		prev = s
	}
}

// sorted returns the violations sorted by type id. Violations of the same type keep their order.
func (c *checker) sorted() []Violation {
	slices.SortStableFunc(c.found,
		func(a, b Violation) int { return cmp.Compare(a.TypeID, b.TypeID) })
	if c.more > 0 {
		c.found = append(c.found,
			Violation{Rule: "more", Detail: fmt.Sprintf("%d further violations are not listed", c.more)})
	}
	return c.found
}
