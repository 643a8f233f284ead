package encode

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Linked makes the BTF of the linked file at path, with a phase of the run for each step.
func Linked(run *report.Run, files *debugfile.Search, path string, bases *base.Files,
	options convert.Options, which link.Which) (*link.Result, error) {
	phase := run.Phase("convert", "units")
	options.Progress = phase.Progress
	wanted := facts.Options{Features: options.Features, Base: bases.BTF}
	if which == link.Extra {
		// The base is not that of the file's own .BTF, which is read for nothing but kfuncs.
		wanted.Features = wanted.Features.Without(features.DeclTagKfuncs)
	}
	o, known, err := readLinked(run, files, path, wanted, options)
	if err != nil {
		return nil, err
	}
	run.EndConvert(phase, options.Counts, o)
	phase = run.Phase("link", "")
	result, err := link.Link([]*object.Object{o}, link.Options{Facts: known, Base: bases.Base,
		BasePath: bases.Path, Features: options.Features, Variables: which, Jobs: options.Jobs,
		Step: phase.Step})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return result, run.EndLink(phase, result, bases.BTF)
}

// readLinked takes from the file at path what the link needs. The file's memory, symbols included,
// is free afterwards.
func readLinked(run *report.Run, files *debugfile.Search, path string, wanted facts.Options,
	options convert.Options) (*object.Object, *facts.Facts, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.Threads = options.Jobs
	var known *facts.Facts
	var factsErr error
	var wg parallel.Group
	wg.Go(func() {
		known, factsErr = ReportFacts(run, f, wanted, options.Split)
		f.Release() // the symbols, which nothing needs any more
	})
	defer wg.Wait() // before f is closed, if Object panics
	o, err := Object(f, options)
	wg.Wait()
	return o, known, cmp.Or(err, factsErr)
}

// ReportFacts is Facts as a phase of the run.
func ReportFacts(run *report.Run, f *elf.File, options facts.Options,
	split *splitdwarf.Finder) (*facts.Facts, error) {
	phase := run.Phase("facts", "")
	known, err := Facts(f, options, split)
	if err != nil {
		return nil, err
	}
	run.EndFacts(phase, known)
	return known, nil
}
