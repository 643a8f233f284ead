package base

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Source is a BTF without a base, read once, for those who keep its index in a file.
type Source struct {
	// Path is the file that has the BTF, Machine that file's e_machine, 0 if it is raw BTF. What Open
	// and Index return has both from here, for an index has neither.
	Path    string
	Machine uint16

	data []byte
	sum  Sum
}

// NewSource takes the bytes of a BTF. They must not change any more.
func NewSource(data []byte) *Source { return &Source{data: data, sum: sumOfBytes(data, Sum{})} }

// Sum identifies the bytes. It is that in the index if they are as btf.Encode writes them.
func (s *Source) Sum() Sum { return s.sum }

// Open opens the index at path. It is an error if that was made of other BTF.
func (s *Source) Open(path string) (*Files, error) {
	f, err := Open([]string{path})
	if err != nil {
		return nil, err
	}
	if !s.has(f) {
		f.Close()
		return nil, fmt.Errorf("%s: not an index of this BTF", path)
	}
	f.Path, f.Base.(*Chain).machine = s.Path, s.Machine
	return f, nil
}

// has reports whether f is an index of s.
func (s *Source) has(f *Files) bool {
	chain, _ := f.Base.(*Chain)
	if f.Index == "" || chain == nil || len(chain.layers) != 1 {
		return false
	}
	made := chain.layers[0].header.BTF
	if made == s.sum {
		return true
	}
	b, err := btf.Parse(s.data, nil)
	if err != nil {
		return false
	}
	own, err := sumOf(b, Sum{})
	return err == nil && made == own
}

// Index makes the index, and returns its bytes for a file at path, and what Open would return of
// that.
func (s *Source) Index(path string) ([]byte, *Files, error) {
	b, err := btf.Parse(s.data, nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := indexOf(b)
	if err != nil {
		return nil, nil, err
	}
	chain := &Chain{machine: s.Machine}
	if err := chain.push(data); err != nil {
		return nil, nil, err
	}
	return data, &Files{Base: chain, BTF: chain.hollow(), Index: path, Path: s.Path}, nil
}
