package verify

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

type needs uint8

const (
	optional  needs = iota // none, or an identifier
	required               // an identifier
	section                // printable characters
	anyText                // any text that isn't empty
	anyOrNone              // any text
	forbidden              // none: the offset must be 0
)

// name returns the name at the string offset off. This is the name of the i-th type in the blob or,
// if the parameter what is not empty, of the type's n-th element. If the offset is out of range,
// name reports a violation, and ok is false.
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
			"%s: offset %d is inside another string; cilium/ebpf and others reject that", whose(), off)
	}
	return s, true
}

// Rule: verify: names. Source: kernel btf_name_valid_identifier, btf_name_valid_section.
func (c *checker) typeName(i uint32, want needs) {
	t := &c.b.Types[i]
	if want == forbidden && t.NameOff == 0 {
		return
	}
	switch s, ok := c.name(Boot, i, t.NameOff, "", 0); {
	case !ok:
	case want == forbidden:
		c.report(Boot, i, "name-unexpected", "it has the name %q (string offset %d), but a %v has none",
			short(s), t.NameOff, t.Kind)
	case !want.allow(t.NameOff, s):
		c.report(Boot, i, "name-invalid", "%s", badName(s, want))
	}
}

func (c *checker) elementName(i, off uint32, what string, n int, want needs) string {
	s, ok := c.name(Boot, i, off, what, n)
	if ok && !want.allow(off, s) {
		c.report(Boot, i, "name-invalid", "%s %d: %s", what, n, badName(s, want))
	}
	return s
}

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
		return fmt.Sprintf("the name has %d bytes, but the kernel reads %d", len(s), btf.MaxNameLen)
	case want == section:
		return fmt.Sprintf("the name %q contains control characters", s)
	}
	return fmt.Sprintf(
		"the name %q is not an identifier (letters, digits, _ and ., no digit first)", s)
}

// short cuts off a name that is longer than the kernel accepts. Many types may have names that end
// with the same string, which may be as long as the file.
func short(name string) string {
	if len(name) > btf.MaxNameLen {
		return name[:btf.MaxNameLen] + "..."
	}
	return name
}
