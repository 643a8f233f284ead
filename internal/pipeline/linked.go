package pipeline

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/link/statics"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// How has the options with which Linked makes BTF.
type How struct {
	Files     Files
	Bases     *base.Files // the base of split BTF; if it is empty, the BTF isn't split
	Convert   convert.Options
	Variables Variables
	// Change, if not nil, gets the BTF that the link made, and returns the BTF to use instead.
	// Result.Extra is based on the changed BTF.
	Change func(data []byte) ([]byte, error)
	// If Inlined is set, Result.Inlined has the sites at which functions were inlined. With
	// features.Inline, they are in Result.BTF instead, along with the other types.
	Inlined bool
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

// Variables says which variables are encoded.
type Variables struct {
	Which link.Which // the zero value: the features decide
	// If Apart is set, variables that are not per-CPU get their own split BTF, Result.Extra.
	Apart bool
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

// Result is the BTF of a linked file.
type Result struct {
	*link.Result
	// Extra is split BTF based on Result.BTF. It is nil unless Variables.Apart is set.
	Extra *link.Result
	// Inlined is split BTF based on Result.BTF. It is nil unless How.Inlined is set.
	Inlined *InlinedResult
	// Release is the file's kernel release, as elf.File.KernelRelease returns it.
	Release string
}

// Linked makes the BTF of the linked file at path.
func Linked(path string, how How) (*Result, error) {
	inOne := how.Convert.Features.Has(features.Inline)
	how.Convert.Features = how.Convert.Features.Without(features.Inline) // not for the object
	how.Inlined = how.Inlined || inOne
	var sites *inlines.Sites
	if how.Inlined {
		sites = &inlines.Sites{}
		how.Convert.Sites = sites
	}
	f, err := how.Files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if f != nil {
			f.Close()
		}
	}()
	result := &Result{Release: f.KernelRelease()}
	all, known, err := read(f, &how)
	if err != nil {
		return nil, err
	}
	o := all
	if how.Inlined {
		o = withoutInlined(all)
	}
	options := link.Options{Facts: known, Base: how.Bases.Base, BasePath: how.Bases.Path,
		Features: how.Convert.Features, Variables: how.Variables.Which, Jobs: how.Convert.Jobs}
	options.Last = !how.Inlined && !how.Variables.Apart && how.Convert.Shared == nil
	if how.Variables.Apart {
		options.Variables = link.PerCPU
	}
	if how.Watch != nil {
		options.Step = how.Watch.Linking()
	}
	// The link doesn't need the file, nor what was read from it, such as the symbols. For a large
	// file, closing it takes milliseconds.
	parallel.All(options.Jobs, func() {
		f.Close()
		f = nil
	}, func() {
		result.Result, err = link.Link([]*object.Object{o}, options)
	})
	if err != nil {
		return nil, cmp.Or(again(path, &how), fmt.Errorf("%s: %w", path, err))
	}
	result.Doubt = cmp.Or(relocate.OtherRelease(result.Release, how.Bases.Release), result.Doubt)
	if how.Variables.Which != link.Extra {
		result.Doubt = cmp.Or(result.Doubt, OwnBase(result.BTF, how.Bases.BTF))
	}
	if result.Loss != "" && how.Convert.Warn != nil {
		how.Convert.Warn(path + ": " + result.Loss)
	}
	if how.Watch != nil {
		if err := how.Watch.Linked(result.Result, how.Bases.BTF); err != nil {
			return nil, err
		}
	}
	if !how.Empty {
		if err := CheckTypes(path, result.BTF, how.Bases.Base == nil, how.Convert.Counts,
			how.Convert.Warn); err != nil {
			return nil, err
		}
	}
	if how.Change != nil {
		if result.BTF, err = how.Change(result.BTF); err != nil {
			return nil, err
		}
	}
	if how.Inlined {
		result.Inlined, err = linkInlined(path, all, sites, options, how.Bases, result.BTF)
		if err == nil && inOne {
			result.BTF, err = joinInlined(result, how.Bases)
		}
		if err != nil {
			return nil, err
		}
	}
	if how.Variables.Apart {
		if result.Extra, err = linkExtra(o, options, how.Bases, result.BTF); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return result, nil
}

// again converts a file again after its link has failed. If a type contains itself by value, the
// error says where that type is in the file.
func again(path string, how *How) error {
	f, err := how.Files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	options := how.Convert
	options.Counts, options.Sites, options.Warn = nil, nil, nil
	_, err = Object(f, options)
	return err
}

// linkExtra makes split BTF of the variables that aren't per-CPU. Its base is fileBTF.
// Rule: extra BTF: variables that are not per-CPU.
func linkExtra(o *object.Object, options link.Options, bases *base.Files,
	fileBTF []byte) (*link.Result, error) {
	chain, err := bases.With(fileBTF)
	if err != nil {
		return nil, err
	}
	options.Base, options.BasePath, options.Variables = chain.Base, "", link.Extra
	return link.Link([]*object.Object{o}, options)
}

// read reads everything that the link needs from the file.
func read(f *elf.File, how *How) (*object.Object, *facts.Facts, error) {
	if how.Alone {
		limitHeap(f)
	}
	if how.Variables.Which != link.Extra {
		if err := how.Bases.CheckKernel(f); err != nil {
			return nil, nil, err
		}
	}
	f.Threads = how.Convert.Jobs
	if how.Convert.Shared != nil { // other threads convert other files
		known, err := how.facts(f)
		if err != nil {
			return nil, nil, err
		}
		o, err := Object(f, how.Convert)
		return o, known, err
	}
	options := how.Convert
	options.Unchecked = true // see again
	var known *facts.Facts
	var factsErr error
	var wg parallel.Group
	wg.Go(func() {
		known, factsErr = how.facts(f)
		f.Release() // the symbols, which nothing needs any more
	})
	if options.Jobs == 1 {
		wg.Wait()
	}
	defer wg.Wait() // before f is closed, if Object panics
	if how.Watch != nil {
		options.Progress = how.Watch.Converting("units")
	}
	o, err := Object(f, options)
	wg.Wait()
	if err = cmp.Or(err, factsErr); err == nil && how.Watch != nil {
		how.Watch.Converted(options.Counts, o)
	}
	return o, known, err
}

func (h *How) facts(f *elf.File) (*facts.Facts, error) {
	wanted := facts.Options{Features: h.Convert.Features, Base: h.Bases.BTF}
	if h.Variables.Which == link.Extra {
		// The file's own .BTF, which is read only for kfuncs, has a different base.
		wanted.Features = wanted.Features.Without(features.DeclTagKfuncs)
	}
	if h.Watch == nil {
		return Facts(f, wanted, h.Convert.Split)
	}
	h.Watch.FindingFacts()
	known, err := Facts(f, wanted, h.Convert.Split)
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
			"of kfuncs) has no contents; pass the stripped file, and this file with --dwarf (or leave "+
			"kfuncs out with --features=-%v)", f.Path, features.DeclTagKfuncs)
	}
	return known, statics.Identify(f, known, options.Features, split)
}
