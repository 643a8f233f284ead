package btf

import (
	"fmt"

	format "github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// Violation is a rule of the kernel that BTF violates.
type Violation struct {
	TypeID uint32 // the type; 0 for the BTF as a whole
	Rule   string // a short fixed name, such as "member-bounds"
	Text   string // one line: the type, the rule, and what is wrong
}

// Verify checks raw BTF by the rules of the kernel's verifier (kernel/bpf/btf.c): those that apply
// when the kernel reads BTF at boot or with a module, and those of BPF_BTF_LOAD. BTF on bases is
// split BTF; the bases, deepest first, are not checked. BTF whose form can't be read is an error.
func Verify(data []byte, bases ...[]byte) ([]Violation, error) {
	b, err := parse(append(append([][]byte{}, bases...), data)...)
	if err != nil {
		return nil, err
	}
	scope := verify.Load
	var found []Violation
	for _, v := range verify.Check(b, verify.Options{Only: &scope, Module: len(bases) > 0}) {
		found = append(found, Violation{v.TypeID, v.Rule, v.String()})
	}
	return found, nil
}

// parse parses a chain of raw BTF, deepest first, and returns the last.
func parse(chain ...[]byte) (b *format.Blob, err error) {
	for i, data := range chain {
		if b, err = format.Parse(data, b); err != nil && i < len(chain)-1 {
			err = fmt.Errorf("base %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}
