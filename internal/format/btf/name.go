package btf

import (
	"errors"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// MaxNameLen is the length in bytes, without the NUL, of the longest name that the kernel accepts:
// KSYM_NAME_LEN since Linux 6.1 (128 before).
const MaxNameLen = 512

// inIdentifier and inSectionName are 1 for each character that the kernel accepts in these names,
// and 0 for all others. The kernel's isalpha, isdigit and isprint (lib/ctype.c) assume Latin-1.
var inIdentifier, inSectionName = func() (identifier, section [256]uint8) {
	for i := range 256 {
		c := byte(i)
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0xc0 && c != '×' && c != '÷'
		if letter || '0' <= c && c <= '9' || c == '_' || c == '.' {
			identifier[c] = 1
		}
		if ' ' <= c && c < 0x7f || c >= 0xa0 {
			section[c] = 1
		}
	}
	return identifier, section
}()

// ValidIdentifier reports whether the kernel accepts the name of a type, a member, a parameter, a
// function or a variable (btf_name_valid_identifier in kernel/bpf/btf.c): 1 to MaxNameLen ASCII or
// Latin-1 letters, digits, underscores and dots; the first is not a digit.
// Rule: names that the kernel refuses. Source: kernel btf_name_valid_identifier; pahole
// btf_name_valid.
func ValidIdentifier(name []byte) bool {
	return len(name) > 0 && (name[0] < '0' || name[0] > '9') && allIn(&inIdentifier, name)
}

// ValidSectionName reports whether the kernel accepts the name of a DATASEC: 1 to MaxNameLen
// printable ASCII or Latin-1 characters (btf_name_valid_section in kernel/bpf/btf.c).
func ValidSectionName(name []byte) bool {
	return len(name) > 0 && allIn(&inSectionName, name)
}

// allIn reports whether s is not too long, and in[c] is 1 for each byte c of s. It checks eight
// bytes at a time, because a link checks every name.
func allIn(in *[256]uint8, s []byte) bool {
	if len(s) > MaxNameLen {
		return false
	}
	if len(s) < 8 {
		for _, c := range s {
			if in[c] == 0 {
				return false
			}
		}
		return true
	}
	last := len(s) - 8 // the last eight bytes may overlap those before them
	for i := 0; ; i += 8 {
		b := (*[8]byte)(s[min(i, last):])
		if in[b[0]]&in[b[1]]&in[b[2]]&in[b[3]]&in[b[4]]&in[b[5]]&in[b[6]]&in[b[7]] == 0 {
			return false
		}
		if i >= last {
			return true
		}
	}
}

// CheckNames returns an error if a type in b itself has a name that doesn't exist, or if the names
// in b's own string section overlap so much that together they are many times longer than it.
// A copy of such names would take as much memory.
func (b *Blob) CheckNames() error {
	seen := make([]bool, len(b.Strings))
	budget := 4*len(b.Strings) + 1<<16
	for i := range b.Types {
		t := &b.Types[i]
		for off := range b.Names(t) {
			at := off - b.BaseStrLen
			if off < b.BaseStrLen || at < uint32(len(seen)) && seen[at] {
				continue
			}
			name, err := b.Name(off)
			if budget -= len(name); err == nil && budget < 0 {
				err = errors.New("the names overlap, and together they are many times longer than the " +
					"string section" + message.Rebuild)
			}
			if err != nil {
				return fmt.Errorf("BTF type [%d] %v: %w", b.StartID+uint32(i), t.Kind, err)
			}
			seen[at] = true
		}
	}
	return nil
}
