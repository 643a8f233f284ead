package pipeline

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/link"
)

// Extra is a pass that makes split BTF of the variables that aren't per-CPU, Result.Extra. It needs
// the feature global_var.
type Extra struct{}

func (Extra) Needs() Needs { return Needs{Stage: Splits, PerCPU: true} }

// Add links the file's units again, on the file's BTF.
func (Extra) Add(s *Source, r *Result) error {
	bases, err := s.how.Bases.With(r.BTF)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	options := s.options(bases)
	options.Variables = link.Extra
	r.Extra, err = link.One(s.Object, options)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	return nil
}
