package link

import (
	"errors"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/locsec"
	"github.com/rules-btf/rules_btf/internal/link/write"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// InlinedResult is the result of Inlined.
type InlinedResult struct {
	BTF    []byte
	Counts locsec.Counts
	Doubt  string // why the base may be the wrong one; "" if there is no sign of it
}

// Inlined makes split BTF of the sites at which functions were inlined. Its base is the BTF of the
// same file: the last BTF in opt.Base. The parameter functions lists the functions of this base.
// The object and the sites must be from the same conversion. If the base lacks a function, the
// split BTF has it, with the types that it needs.
func Inlined(o *object.Object, sites *inlines.Sites, functions *base.Functions,
	opt Options) (*InlinedResult, error) {
	if opt.Base == nil {
		return nil, errors.New("link: sites of inlined functions need a base")
	}
	opt.setDefaults()
	opt.Facts = nil // the functions have no symbols
	t, _, _, err := opt.resolve(o)
	if err != nil {
		return nil, err
	}
	opt.Step("choose functions")
	d, inlined := decide.DecideInlined(t, functions.Find)
	opt.Step("write types")
	w, err := write.BTF(t, d, write.Options{Order: orderOf(o), Jobs: opt.Jobs, CheckNames: true,
		OnlyMade: true})
	if err != nil {
		return nil, err
	}
	opt.Step("write sites")
	below := &btf.Blob{Order: orderOf(o)}
	below.StartID, below.BaseStrLen = opt.Base.Ends()
	split, err := btf.Parse(w.BTF, below)
	if err != nil {
		return nil, err
	}
	ids := make([]uint32, t.Len())
	for k, f := range inlined {
		if ids[k] = f.ID; f.ID == 0 {
			ids[k] = w.MadeID(f.Made)
		}
	}
	blob, counts := locsec.Add(split, sites,
		func(s string) uint32 { return opt.Base.String([]byte(s)) },
		func(s *inlines.Site) uint32 {
			return ids[t.In(int(s.Unit), o.Units[s.Unit].Items[s.Item])]
		}, opt.Jobs)
	data, err := btf.Encode(blob, btf.EncodeOptions{})
	return &InlinedResult{data, counts, t.Found.Doubt()}, err
}
