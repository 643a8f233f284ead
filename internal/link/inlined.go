package link

import (
	"errors"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/locsec"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/write"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
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
//
// The units that are linked have the types of the object's units. Their only functions are those
// of the sites.
func Inlined(o *object.Object, sites *inlines.Sites, functions *base.Functions,
	opt Options) (*InlinedResult, error) {
	if opt.Base == nil {
		return nil, errors.New("link: sites of inlined functions need a base")
	}
	opt.setDefaults()
	opt.Facts = nil // the functions have no symbols
	needed := withSites(o, sites)
	chain := object.Chain(functions.BTF())
	distilled := len(chain) > 1 && relocate.CheckDistilled(chain[0]) == nil
	if distilled {
		needed = declare(needed, opt.Base, functions.BTF())
	}
	r, u, err := opt.resolve(needed)
	if err != nil {
		return nil, err
	}
	t := r.types.Types
	opt.Step("choose functions")
	d, inlined := decide.DecideInlined(r.types, functions.Find, opt.Jobs)
	opt.Step("write types, sort locations")
	var w *write.Written
	var locations *locsec.Locations
	parallel.All(opt.Jobs, func() {
		w, err = write.BTF(t, d, write.Options{Order: orderOf(o), Jobs: opt.Jobs, CheckNames: true,
			OnlyMade: true})
	}, func() { locations = locsec.Sort(sites) })
	if err != nil {
		return nil, err
	}
	opt.Step("write sites")
	ids := idsOfFunctions(t, u, w, inlined, sites)
	var split *btf.Blob
	var list *locsec.List
	parallel.All(opt.Jobs, func() { split, err = btf.Parse(w.BTF, functions.BTF()) },
		func() { list = locations.List(ids, opt.Jobs) })
	if err != nil {
		return nil, err
	}
	blob, counts := list.Add(split, func(s string) uint32 { return opt.Base.String([]byte(s)) })
	data, err := btf.Encode(blob, btf.EncodeOptions{})
	result := &InlinedResult{BTF: data, Counts: counts}
	if !distilled { // a distilled base defines only a few types
		result.Doubt = t.Found.Doubt()
	}
	return result, err
}

// withSites returns o with the functions of the sites in place of the functions and variables.
func withSites(o *object.Object, sites *inlines.Sites) *object.Object {
	with := *o
	with.Units = without(o.Graph, o.Units, func(n *types.Node) bool {
		return n.Kind == types.KindFunc || n.Kind == types.KindVar
	})
	for i := range sites.Units {
		u := &with.Units[sites.Units[i].Unit]
		functions := slices.Clone(sites.Units[i].Functions)
		slices.Sort(functions)
		u.Items = append(u.Items, slices.Compact(functions)...)
	}
	return &with
}

// idsOfFunctions returns the type ids of the functions in sites.Units, by unit.
func idsOfFunctions(t *resolve.Types, units *units, w *write.Written, list []decide.Inlined,
	sites *inlines.Sites) [][]uint32 {
	ids := make([]uint32, t.Len())
	for _, f := range list {
		if ids[f.Func] = f.ID; f.ID == 0 {
			ids[f.Func] = w.MadeID(f.Made)
		}
	}
	byUnit := make([][]uint32, len(sites.Units))
	for i := range sites.Units {
		u := &sites.Units[i]
		byUnit[i] = make([]uint32, len(u.Functions))
		for n, id := range u.Functions {
			byUnit[i][n] = ids[units.In(u.Unit, units.id(id))]
		}
	}
	return byUnit
}
