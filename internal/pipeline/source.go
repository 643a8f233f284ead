package pipeline

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/statics"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Source is what was read from a linked file: all that a link and the passes need.
type Source struct {
	Path    string
	Release string // as elf.File.KernelRelease returns it
	*convert.Result
	Facts *facts.Facts // nil if only the sites of inlined functions were read

	how *How
}

// read reads the linked file at path. If how.Convert.Want is convert.OnlySites, how.Bases isn't
// used.
func read(path string, how *How) (*Source, error) {
	f, err := how.Files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if how.Alone {
		limitHeap(f)
	}
	f.Threads = how.Convert.Jobs
	s := &Source{Path: path, Release: f.KernelRelease(), how: how}
	options := how.Convert
	var failed error
	var wg parallel.Group
	if options.Want != convert.OnlySites {
		if how.Variables != link.Extra {
			if err := how.Bases.CheckKernel(f); err != nil {
				return nil, err
			}
		}
		wg.Go(func() {
			s.Facts, failed = how.facts(f)
			if options.Shared == nil { // else f is small
				f.DropPages() // the symbols, which nothing needs any more
			}
		})
	}
	if options.Jobs == 1 {
		wg.Wait()
	}
	defer wg.Wait() // before f is closed, if Object panics
	if how.Watch != nil {
		options.Progress = how.Watch.Converting("units")
	}
	s.Result, err = Object(f, how.Input, options)
	wg.Wait()
	if err = cmp.Or(err, failed); err == nil && how.Watch != nil {
		how.Watch.Converted(&s.Counts, s.Object)
	}
	return s, err
}

func (h *How) facts(f *elf.File) (*facts.Facts, error) {
	wanted := facts.Options{Features: h.Convert.Features, Base: h.Bases.Last}
	if h.Variables == link.Extra {
		// The file's own .BTF, which is read only for kfuncs, has a different base.
		wanted.Features = wanted.Features.Without(features.DeclTagKfuncs)
	}
	if h.Watch == nil {
		return Facts(f, wanted, h.Convert.SplitDWARF)
	}
	h.Watch.FindingFacts()
	known, err := Facts(f, wanted, h.Convert.SplitDWARF)
	if err == nil {
		h.Watch.FoundFacts(known)
	}
	return known, err
}

// Facts returns the facts of f: what only a linked file shows. If several static variables have the
// same name, each of them gets a Definition. split finds split units, as in convert.Options.
func Facts(f *elf.File, options facts.Options, split *splitdwarf.Finder) (*facts.Facts, error) {
	known, err := facts.Extract(f, options)
	if err != nil {
		return nil, err
	}
	if known.KfuncState == facts.KfuncsStripped {
		return nil, fmt.Errorf("%s: this is a separate debug file, in which section .BTF_ids (the list "+
			"of kfuncs) has no contents; pass the stripped file, and this file with --debug-file (or leave "+
			"kfuncs out with --features=-%v)", f.Path, features.DeclTagKfuncs)
	}
	return known, statics.Identify(f, known, options.Features, split)
}
