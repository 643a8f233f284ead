package pipeline

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/locsec"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// InlinedResult is the BTF of the sites at which functions of a file were inlined.
type InlinedResult struct {
	*link.InlinedResult
	Lost inlines.Lost // why sites and locations are not in the BTF
}

// Sites is a pass that makes split BTF of the sites at which functions were inlined,
// Result.Inlined. If Joined is set, the sites are added to the file's BTF instead.
type Sites struct{ Joined bool }

func (p Sites) Needs() Needs {
	if p.Joined {
		return Needs{Stage: Joins, Sites: true}
	}
	return Needs{Stage: Splits, Sites: true}
}

// Add links the sites on the file's BTF.
func (p Sites) Add(s *Source, r *Result) error {
	bases, err := s.how.Bases.With(r.BTF)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	made, err := s.inlined(bases, nil)
	switch {
	case err != nil:
		return err
	case p.Joined:
		r.BTF, err = join(made.BTF, bases.Last)
		return err
	}
	r.Inlined = made
	return nil
}

// join returns one BTF with the types of own and the sites of split BTF that is based on it.
func join(split []byte, own *btf.Blob) ([]byte, error) {
	b, err := btf.Parse(split, own)
	if err != nil {
		return nil, err
	}
	return btf.Encode(locsec.Join(b), own.Header.Form())
}

// Inlined makes the BTF of the sites at which functions were inlined in the linked file at path.
// The function open opens the bases and sets how.Bases; the last base is the BTF of the file
// itself. It is called while the file is being converted.
func Inlined(path string, how *How, open func() error) (*InlinedResult, error) {
	how.Convert.Want = convert.OnlySites
	var s *Source
	var failed, err error
	parallel.All(how.Convert.Jobs, func() {
		if failed = open(); failed == nil {
			var whole base.Whole
			if whole, failed = how.Bases.Whole(inlinedFunctions); failed == nil {
				whole.Functions.Index()
			}
		}
	}, func() { s, err = read(path, how) })
	if err := cmp.Or(failed, err); err != nil {
		return nil, err
	}
	var step func(string)
	if how.Watch != nil {
		step = how.Watch.Linking()
	}
	return s.inlined(how.Bases, step)
}

const inlinedFunctions = "the BTF of inlined functions"

// inlined makes the split BTF of the sites. The last base is the BTF of the file itself.
func (s *Source) inlined(bases *base.Files, step func(name string)) (*InlinedResult, error) {
	if s.Sites == nil || len(s.Sites.Sections) == 0 {
		return nil, fmt.Errorf("%s: no DWARF (.debug_info), which alone has the sites of inlined "+
			"functions; compile with -g and don't strip", s.Path)
	}
	whole, err := bases.Whole(inlinedFunctions)
	if err != nil {
		return nil, err
	}
	options := s.options(bases)
	options.Step = step
	made, err := link.Inlined(s.Object, s.Sites, whole.Functions, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	made.Doubt = cmp.Or(relocate.OtherRelease(s.Release, bases.Release), made.Doubt)
	return &InlinedResult{made, s.Sites.Lost}, nil
}
