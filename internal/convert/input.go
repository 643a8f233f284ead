package convert

import "fmt"

// Input is a kind of debugging information. It is a flag's value.
type Input string

// The kinds.
const (
	InputAuto  Input = "auto"  // DWARF where a file has some, else BTF
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
	return fmt.Errorf("is not auto, dwarf or btf")
}

// String is the kind as Set reads it.
func (i *Input) String() string { return string(*i) }

// Choices are what Set reads, which is no list.
func (i *Input) Choices() (words []string, list bool) {
	return []string{string(InputAuto), string(InputDWARF), string(InputBTF)}, false
}

// Type is what help says of the value.
func (i *Input) Type() string { return "kind" }
