package btf

import (
	"fmt"
	"strings"
)

// IsCutEnum reports whether t is an enum of 8 bytes with values of 32 bits: the upper bits of its
// values are lost. Only an encoder without ENUM64 writes it, such as pahole with
// --skip_encoding_btf_enum64, or before 1.24 (btf_encoder__add_enum).
// Rule: enums whose values were cut to 32 bits. Source: pahole btf_encoder__add_enum.
func (t *Type) IsCutEnum() bool { return t.Kind == KindEnum && t.SizeOrType > 4 && t.Vlen > 0 }

// CutEnums describes the enums of a blob whose values are cut, or returns "" if there are none. The
// bases of the blob don't count.
func (b *Blob) CutEnums() string {
	const most = 3 // names
	var names []string
	n := 0
	for i := range b.Types {
		t := &b.Types[i]
		if !t.IsCutEnum() {
			continue
		}
		if n++; n > most {
			continue
		}
		name := b.TypeName(t)
		if name == "" {
			first, _ := b.Name(b.EnumsOf(t)[0].NameOff)
			name = "with " + first
		}
		names = append(names, "enum "+name)
	}
	if n > most {
		names = append(names, "…")
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d enums have 8 bytes, but only the low 32 bits of their values (%s): the "+
		"encoder had no ENUM64 (pahole --skip_encoding_btf_enum64)", n, strings.Join(names, ", "))
}
