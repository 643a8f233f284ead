package verify

import (
	"strconv"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// needs is what a kind wants of its name.
type needs uint8

const (
	optional  needs = iota // none, or an identifier
	required               // an identifier
	section                // printable characters
	anyText                // anything but empty
	anyOrNone              // anything
	forbidden              // none: the offset is 0
)

// name reads a string offset of an own type; what says whose it is ("name", "name of member 3"). ok
// is false if it is out of range, which is reported.
func (c *checker) name(scope Scope, i, off uint32, what func() string) (s string, ok bool) {
	s, err := c.b.Name(off)
	if err != nil || off > btf.MaxNameOff {
		c.report(scope, i, "name-offset", "%s: string offset %d is not below %d", what(), off,
			c.b.EndStr())
		return "", false
	}
	if off != 0 && !startsString(c.b, off) {
		c.report(Reader, i, "name-inside-string",
			"%s: offset %d is inside another string; cilium/ebpf and others refuse that", what(), off)
	}
	return s, true
}

// startsString says whether an offset is the first byte of a string.
func startsString(b *btf.Blob, off uint32) bool {
	for ; b != nil; b = b.Base {
		if off >= b.BaseStrLen {
			at := off - b.BaseStrLen
			return at == 0 || at <= uint32(len(b.Strings)) && b.Strings[at-1] == 0
		}
	}
	return false
}

func ownName() string { return "name" }

// typeName checks an own type's name.
func (c *checker) typeName(i uint32, want needs) {
	t := &c.b.Types[i]
	if want == forbidden {
		if t.NameOff != 0 {
			if s, ok := c.name(Boot, i, t.NameOff, ownName); ok {
				c.report(Boot, i, "name-unexpected", "a %v has no name, this one has %s (string offset %d)",
					t.Kind, strconv.Quote(s), t.NameOff)
			}
		}
		return
	}
	s, ok := c.name(Boot, i, t.NameOff, ownName)
	if !ok {
		return
	}
	switch want {
	case optional:
		ok = t.NameOff == 0 || btf.ValidIdentifier([]byte(s))
	case required:
		ok = t.NameOff != 0 && btf.ValidIdentifier([]byte(s))
	case section:
		ok = t.NameOff != 0 && btf.ValidSectionName([]byte(s))
	case anyText:
		ok = s != ""
	}
	if !ok {
		c.report(Boot, i, "name-invalid", "%s", badName(s, want))
	}
}

func badName(s string, want needs) string {
	switch {
	case s == "":
		return "the name is empty"
	case len(s) > btf.MaxNameLen:
		return "the name has " + strconv.Itoa(len(s)) + " bytes, the kernel reads " +
			strconv.Itoa(btf.MaxNameLen)
	case want == section:
		return "the name " + strconv.Quote(s) + " holds control characters"
	}
	return "the name " + strconv.Quote(s) +
		" is not an identifier (letters, digits, _ and ., no digit first)"
}
