package pipeline

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Pass makes one more output of a file that was read and linked, or changes the file's BTF.
type Pass interface {
	Needs() Needs
	// Add adds the output to the result. Its errors name the file.
	Add(s *Source, r *Result) error
}

// Needs is what a pass needs from the steps before it.
type Needs struct {
	Stage  Stage
	Sites  bool // Source.Sites
	PerCPU bool // the file's BTF has no variables except per-CPU variables
}

// Stage says when a pass runs: the stages follow each other.
type Stage int

// The stages.
const (
	Changes Stage = iota // of the file's BTF, on which the outputs of the next stage are based
	Splits               // split BTF that is based on the file's BTF
	Joins                // additions to the file's BTF that need what is based on it
)

// ofFeatures lists the passes that features ask for. The conversion and the link don't see these
// features.
var ofFeatures = []struct {
	feature features.Set
	pass    Pass
}{
	{features.Inline, Sites{Joined: true}},
}

// plan adds the passes that features ask for, sorts all passes by stage, and asks the steps before
// them for what they need.
func (h *How) plan() {
	h.Passes = slices.Clone(h.Passes)
	for _, row := range ofFeatures {
		if h.Convert.Features.Has(row.feature) {
			h.Passes = append(h.Passes, row.pass)
			h.Convert.Features = h.Convert.Features.Without(row.feature)
		}
	}
	slices.SortStableFunc(h.Passes, func(a, b Pass) int {
		return cmp.Compare(a.Needs().Stage, b.Needs().Stage)
	})
	for _, p := range h.Passes {
		needs := p.Needs()
		if needs.Sites {
			h.Convert.Want = convert.TypesAndSites
		}
		if needs.PerCPU {
			h.Variables = link.PerCPU
		}
	}
}

// Change is a pass that replaces the file's BTF with what the function returns for it.
type Change func(data []byte) ([]byte, error)

func (Change) Needs() Needs { return Needs{Stage: Changes} }

// Add calls c.
func (c Change) Add(_ *Source, r *Result) (err error) {
	r.BTF, err = c(r.BTF)
	return err
}
