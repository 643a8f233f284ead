package pipeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/locsec"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// InlinedResult is the BTF of the sites at which functions of a file were inlined.
type InlinedResult struct {
	*link.InlinedResult
	Lost inlines.Lost // why sites and locations are not in the BTF
}

// Inlined makes the BTF of the sites at which functions were inlined in the linked file at path.
// The function open opens the bases and sets how.Bases; the last base is the BTF of the file
// itself. It is called while the file is being converted.
func Inlined(path string, how *How, open func() error) (*InlinedResult, error) {
	var o *object.Object
	var sites *inlines.Sites
	var release string
	var failed, err error
	parallel.All(how.Convert.Jobs, func() {
		if failed = open(); failed == nil {
			how.Bases.Functions().Index()
		}
	}, func() { o, sites, release, err = readSites(path, how) })
	if err := cmp.Or(failed, err); err != nil {
		return nil, err
	}
	options := link.Options{Base: how.Bases.Base, BasePath: how.Bases.Path,
		Features: how.Convert.Features, Jobs: how.Convert.Jobs}
	if how.Watch != nil {
		options.Step = how.Watch.Linking()
	}
	result, err := link.Inlined(o, sites, how.Bases.Functions(), options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	result.Doubt = cmp.Or(relocate.OtherRelease(release, how.Bases.Release), result.Doubt)
	return &InlinedResult{result, sites.Lost}, nil
}

// linkInlined makes the split BTF of the sites in a file whose BTF is fileBTF.
func linkInlined(path string, o *object.Object, sites *inlines.Sites, options link.Options,
	bases *base.Files, fileBTF []byte) (*InlinedResult, error) {
	if len(sites.Sections) == 0 {
		return nil, fmt.Errorf("%s: no DWARF (.debug_info), which alone has the sites of inlined "+
			"functions; compile with -g and don't strip", path)
	}
	chain, err := bases.With(fileBTF)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	options.Base, options.BasePath, options.Variables, options.Step = chain.Base, "", 0, nil
	result, err := link.Inlined(o, sites, chain.Functions(), options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &InlinedResult{result, sites.Lost}, nil
}

// joinInlined returns one BTF with the types of r.BTF and the sites of r.Inlined. It sets r.Inlined
// to nil.
func joinInlined(r *Result, bases *base.Files) ([]byte, error) {
	own, err := btf.Parse(r.BTF, bases.BTF)
	if err != nil {
		return nil, err
	}
	split, err := btf.Parse(r.Inlined.BTF, own)
	if err != nil {
		return nil, err
	}
	r.Inlined = nil
	return btf.Encode(locsec.Join(split), own.Header.Form())
}

// withoutInlined returns o without the functions that are only in it for the sites. Other links
// must not see them.
func withoutInlined(o *object.Object) *object.Object {
	plain := *o
	plain.Units = slices.Clone(o.Units)
	for i := range plain.Units {
		u := &plain.Units[i]
		isInlined := func(id types.ID) bool {
			n := o.Graph.Node(id)
			return n.Kind == types.KindFunc && types.FuncFlags(n.Size)&types.FuncInlined != 0
		}
		if slices.ContainsFunc(u.Items, isInlined) {
			u.Items = slices.DeleteFunc(slices.Clone(u.Items), isInlined)
		}
	}
	return &plain
}

// readSites reads a file's sites, and the functions that were inlined there. It also returns the
// file's kernel release, if the file has one.
func readSites(path string, how *How) (*object.Object, *inlines.Sites, string, error) {
	f, err := how.Files.Open(path)
	if err != nil {
		return nil, nil, "", err
	}
	defer f.Close()
	if how.Alone {
		limitHeap(f)
	}
	release := f.KernelRelease()
	f.Threads = how.Convert.Jobs
	options, sites := how.Convert, &inlines.Sites{}
	options.Sites, options.OnlyInlined = sites, true
	if how.Watch != nil {
		options.Progress = how.Watch.Converting("units")
	}
	o, err := convert.File(f, options)
	if err == nil && how.Watch != nil {
		how.Watch.Converted(options.Counts, o)
	}
	return o, sites, release, err
}
