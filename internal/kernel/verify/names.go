package verify

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// needs is the rule for a name.
type needs uint8

const (
	optional  needs = iota // none, or an identifier
	required               // an identifier
	section                // printable characters
	anyText                // anything but empty
	anyOrNone              // anything
	forbidden              // none: the offset is 0
)

// name returns the name at an offset: of an own type or, if what is not empty, of its n-th element.
// If the offset is out of range, it reports that, and ok is false.
func (c *checker) name(scope Scope, i, off uint32, what string, n int) (s string, ok bool) {
	whose := func() string {
		if what == "" {
			return "name"
		}
		return fmt.Sprintf("name of %s %d", what, n)
	}
	s, err := c.b.Name(off)
	if err != nil || off > btf.MaxNameOff {
		c.report(scope, i, "name-offset", "%s: string offset %d is not below %d", whose(), off,
			c.b.EndStr())
		return "", false
	}
	if off != 0 && !c.b.StartsString(off) {
		c.report(Reader, i, "name-inside-string",
			"%s: offset %d is inside another string; cilium/ebpf and others refuse that", whose(), off)
	}
	return s, true
}

func (c *checker) typeName(i uint32, want needs) {
	t := &c.b.Types[i]
	if want == forbidden && t.NameOff == 0 {
		return
	}
	switch s, ok := c.name(Boot, i, t.NameOff, "", 0); {
	case !ok:
	case want == forbidden:
		c.report(Boot, i, "name-unexpected", "a %v has no name, this one has %q (string offset %d)",
			t.Kind, s, t.NameOff)
	case !want.allow(t.NameOff, s):
		c.report(Boot, i, "name-invalid", "%s", badName(s, want))
	}
}

// elementName checks the name of the n-th element of an own type, and returns it.
func (c *checker) elementName(i, off uint32, what string, n int, want needs) string {
	s, ok := c.name(Boot, i, off, what, n)
	if ok && !want.allow(off, s) {
		c.report(Boot, i, "name-invalid", "%s %d: %s", what, n, badName(s, want))
	}
	return s
}

// allow reports whether the rule allows a name at an offset.
func (want needs) allow(off uint32, s string) bool {
	switch want {
	case optional:
		return off == 0 || btf.ValidIdentifier([]byte(s))
	case required:
		return off != 0 && btf.ValidIdentifier([]byte(s))
	case section:
		return off != 0 && btf.ValidSectionName([]byte(s))
	case anyText:
		return s != ""
	}
	return true
}

func badName(s string, want needs) string {
	switch {
	case s == "":
		return "the name is empty"
	case len(s) > btf.MaxNameLen:
		return fmt.Sprintf("the name has %d bytes, the kernel reads %d", len(s), btf.MaxNameLen)
	case want == section:
		return fmt.Sprintf("the name %q holds control characters", s)
	}
	return fmt.Sprintf(
		"the name %q is not an identifier (letters, digits, _ and ., no digit first)", s)
}
