package implicitargs

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/locsec"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// RewriteApart is like Rewrite, but moves the sites of inlined functions from the result, data, to
// split BTF that is based on it, sites, as locsec.Separate does. If b has no sites, sites is nil.
func RewriteApart(b *btf.Blob, kfuncs []string, outlined func(name string) bool, jobs int) (data,
	sites []byte, err error) {
	edited, err := edit(b, kfuncs)
	if err != nil {
		return nil, nil, err
	}
	if !edited.HasLocations() {
		data, err = relink(edited, jobs)
		return data, nil, err
	}
	data, split, err := apart(edited, outlined, jobs)
	if err != nil {
		return nil, nil, err
	}
	sites, err = btf.Encode(split, btf.EncodeOptions{})
	return data, sites, err
}

// RewriteWith is like RewriteIfNeeded for the base of sites, which is split BTF with the sites of
// inlined functions, as locsec.Separate makes it. It also returns these sites on the changed base.
func RewriteWith(sites *btf.Blob, kfuncs []string, jobs int) (data []byte, moved *btf.Blob,
	err error) {
	edited, err := edit(sites.Base, kfuncs)
	switch {
	case err != nil || slices.Equal(edited.Types, sites.Base.Types):
		return nil, nil, err
	case edited.HasLocations():
		return nil, nil, fmt.Errorf("the sites of inlined functions are in separate BTF, but the BTF " +
			"on which it is based has sites too: make that BTF without the feature inline")
	}
	return relinkWith(edited, sites, jobs)
}

// apart returns the edited BTF without its sites, in canonical order, and split BTF with the sites,
// which is based on it.
func apart(edited *btf.Blob, outlined func(name string) bool, jobs int) (data []byte,
	split *btf.Blob, err error) {
	if split, err = locsec.Separate(edited, outlined); err != nil {
		return nil, nil, err
	}
	return relinkWith(split.Base, split, jobs)
}

// relinkWith returns BTF without sites in canonical order, and on it the sites in split, which were
// based on old, or on BTF with the same first types.
func relinkWith(old, split *btf.Blob, jobs int) (data []byte, moved *btf.Blob, err error) {
	linked, nodes, err := relinkTypes(old, jobs)
	if err != nil {
		return nil, nil, err
	}
	unit := len(object.Chain(old)) - 1
	ids := make([]uint32, len(old.Types))
	for i := range ids {
		if old.Types[i].Kind != btf.KindVar {
			ids[i] = linked.ID(unit, nodes[old.StartID+uint32(i)])
		}
	}
	on, err := btf.Parse(linked.BTF, old.Base)
	if err != nil {
		return nil, nil, err
	}
	lost := uint32(0)
	moved = locsec.Move(split, on, func(id uint32) uint32 {
		if id < old.StartID {
			return id
		}
		to := ids[id-old.StartID]
		if to == 0 {
			lost = id
		}
		return to
	})
	if lost != 0 {
		t, _ := old.ByID(lost)
		return nil, nil, fmt.Errorf("the sites of inlined functions need %s, which is not a type or "+
			"function", old.KindName(t))
	}
	return linked.BTF, moved, checkSites(moved)
}

// checkSites returns an error if a function at a site has lost parameters. The kernel's macro
// __bpf_kfunc forbids inlining, so kfuncs have no sites.
func checkSites(b *btf.Blob) error {
	for i := range b.Types {
		if b.Types[i].Kind != btf.KindLocsec {
			continue
		}
		for _, s := range b.SitesOf(&b.Types[i]) {
			f, _ := b.ByID(s.Func)
			at, _ := b.ByID(s.LocProto)
			if f == nil || f.Kind != btf.KindFunc || at == nil || at.Kind != btf.KindLocProto {
				return fmt.Errorf("type [%d] LOCSEC %s: a site has no FUNC or no LOC_PROTO",
					b.StartID+uint32(i), b.TypeName(&b.Types[i]))
			}
			proto, _ := b.ByID(f.SizeOrType)
			if proto == nil || proto.Kind != btf.KindFuncProto || proto.Vlen < at.Vlen {
				return fmt.Errorf("type [%d] LOCSEC %s: the function %s was inlined, but it has fewer "+
					"parameters than the site at offset %#x; is it a kfunc with implicit arguments that "+
					"isn't declared with __bpf_kfunc?", b.StartID+uint32(i), b.TypeName(&b.Types[i]),
					b.TypeName(f), s.Offset)
			}
		}
	}
	return nil
}
