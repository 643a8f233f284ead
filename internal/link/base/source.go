package base

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Source is BTF without a base, read once, for callers that keep its index in a file.
type Source struct {
	// Path is the file that has the BTF, and Origin is what an ELF file says. Open and Index copy
	// Path and Origin into their results, because an index has neither.
	Path   string
	Origin btf.Origin

	data []byte
	sum  Sum
}

// NewSource returns the Source for these bytes, which must not change afterwards.
func NewSource(data []byte) *Source { return &Source{data: data, sum: sumOfBytes(data, Sum{})} }

// Sum identifies the bytes. It equals the Sum in the index if btf.Encode writes these bytes.
func (s *Source) Sum() Sum { return s.sum }

// Open opens the index at path. Open returns an error if the index was made from different BTF.
func (s *Source) Open(path string) (*Files, error) {
	f, err := Open([]string{path})
	if err != nil {
		return nil, err
	}
	if !s.has(f) {
		f.Close()
		return nil, fmt.Errorf("%s: not an index of this BTF", path)
	}
	f.Path, f.Release = s.Path, s.Origin.Release
	f.Base.(*Chain).cameFrom(s.Origin)
	return f, nil
}

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

// Index returns the index to write to a file at path, and the Files that Open would return for it.
func (s *Source) Index(path string) ([]byte, *Files, error) {
	b, err := btf.Parse(s.data, nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := indexOf(b)
	if err != nil {
		return nil, nil, err
	}
	chain := &Chain{}
	if err := chain.push(data); err != nil {
		return nil, nil, err
	}
	chain.cameFrom(s.Origin)
	return data, &Files{Base: chain, Last: chain.hollow(), Index: path, Path: s.Path,
		Release: s.Origin.Release}, nil
}
