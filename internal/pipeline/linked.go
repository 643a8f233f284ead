package pipeline

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// How has the options with which Linked makes BTF.
type How struct {
	Files     Files
	Bases     *base.Files // the base of split BTF; if it is empty, the BTF isn't split
	Input     Input
	Convert   convert.Options
	Variables link.Which // the variables that are encoded; the zero value: the features decide
	// Passes make further outputs, in any order. Those that features ask for need not be listed.
	Passes []Pass
	// If Empty is set, BTF without types is not an error.
	Empty bool
	// Alone is set if the process converts nothing else at the same time. Its memory is then limited.
	Alone bool
	Watch Watcher // nil: nobody watches
}

// Files opens files: debugfile.Search does.
type Files interface {
	Open(path string) (*elf.File, error)
}

// Watcher is notified of each step from a file to its BTF. FindingFacts and FoundFacts are called
// during the conversion, because another thread reads the facts at the same time.
type Watcher interface {
	// Converting is called when the conversion begins; unit says what is counted, "files" or
	// "units". The returned function is called with the number that is done and the total number.
	Converting(unit string) (progress func(done, all int))
	Converted(c *convert.Counts, o *object.Object)
	FindingFacts()
	FoundFacts(f *facts.Facts)
	// Linking returns a function that is called with the name of each step of the link.
	Linking() (step func(name string))
	// Linked is called with the result of the link and the result's base, which may be nil.
	Linked(result *link.Result, base *btf.Blob) error
}

// Result is the BTF of a linked file, and what the passes made of it.
type Result struct {
	*link.Result
	Extra   *link.Result   // see the pass Extra
	Inlined *InlinedResult // see the pass Sites
	Counts  convert.Counts
	Release string // as elf.File.KernelRelease returns it
}

// Linked makes the BTF of the linked file at path, and the outputs of the passes.
func Linked(path string, how How) (*Result, error) {
	how.plan()
	s, err := read(path, &how)
	if err != nil {
		return nil, err
	}
	r, err := s.link()
	if err != nil {
		return nil, err
	}
	for _, p := range how.Passes {
		if err := p.Add(s, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// link makes the BTF of the file.
func (s *Source) link() (*Result, error) {
	how := s.how
	options := s.options(how.Bases)
	options.Variables = how.Variables
	if how.Watch != nil {
		options.Step = how.Watch.Linking()
	}
	o := s.Object
	if len(how.Passes) == 0 {
		s.Object = nil // so that it takes up memory only as long as the link needs it
	}
	made, err := link.One(o, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	r := &Result{Result: made, Counts: s.Counts, Release: s.Release}
	r.Doubt = cmp.Or(relocate.OtherRelease(r.Release, how.Bases.Release), r.Doubt)
	if how.Variables != link.Extra {
		r.Doubt = cmp.Or(r.Doubt, OwnBase(r.BTF, how.Bases.Last))
	}
	if r.Loss != "" && how.Convert.Warn != nil {
		how.Convert.Warn(s.Path + ": " + r.Loss)
	}
	if how.Watch != nil {
		if err := how.Watch.Linked(r.Result, how.Bases.Last); err != nil {
			return nil, err
		}
	}
	if !how.Empty {
		err = CheckTypes(s.Path, r.BTF, how.Bases.Base == nil, &r.Counts, how.Convert.Warn)
	}
	return r, err
}

// options returns the options of a link of the file's units on these bases.
func (s *Source) options(bases *base.Files) link.Options {
	return link.Options{Facts: s.Facts, Base: bases.Base, BasePath: bases.Path,
		Features: s.how.Convert.Features, Jobs: s.how.Convert.Jobs}
}
