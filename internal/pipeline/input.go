package pipeline

import "fmt"

// Input is a kind of debugging information. It is the value of the flag --input.
type Input string

// The kinds.
const (
	InputAuto  Input = "auto"  // a file's DWARF if it has some, otherwise its BTF
	InputDWARF Input = "dwarf" // DWARF
	InputBTF   Input = "btf"   // BTF that a compiler wrote
)

// Set reads a kind.
func (i *Input) Set(s string) error {
	switch Input(s) {
	case InputAuto, InputDWARF, InputBTF:
		*i = Input(s)
		return nil
	}
	return fmt.Errorf("must be auto, dwarf or btf")
}

// String returns the kind in the form that Set reads.
func (i *Input) String() string { return string(*i) }

// Type returns the word for the value in help texts.
func (i *Input) Type() string { return "kind" }
