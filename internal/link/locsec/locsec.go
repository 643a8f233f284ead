// Package locsec adds the sites at which functions were inlined to the BTF that has the functions,
// joins such BTF with its base, and splits it again.
package locsec

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// prefix is how the name of a LOCSEC begins. The name of the ELF section follows, as in
// inline.text.
const prefix = "inline"

// Counts are the numbers of sites, of their parameters, and of parameters whose location is known.
type Counts struct{ Sites, Parameters, Known uint64 }

// Add returns BTF with the types of b and the sites s. The order is the canonical one of package
// write: the LOC_PARAMs and LOC_PROTOs, sorted by content, come after the other anonymous types,
// and the LOCSECs are among the named types. If a function was inlined twice at one address, and
// the locations are the same, only one site is kept. The function inBase returns the offset of a
// string in the bases, or 0 if they don't have it. The function id returns the type id, in b or its
// bases, of the function that was inlined at a site.
func Add(b *btf.Blob, s *inlines.Sites, inBase func(string) uint32,
	id func(*inlines.Site) uint32, jobs int) (*btf.Blob, Counts) {
	a := adder{from: b, sites: s, jobs: jobs, to: &btf.Blob{Order: b.Order, Base: b.Base,
		StartID: b.StartID, BaseStrLen: b.BaseStrLen}}
	a.rankLocations()
	a.rankProtos()
	a.findSections()
	a.addStrings(inBase)
	a.addTypes(id)
	return a.to, a.counts
}

type adder struct {
	from, to *btf.Blob
	sites    *inlines.Sites
	jobs     int

	counts    Counts
	anonymous int       // how many types of from are anonymous
	locations []uint32  // the used locations in order
	location  []uint32  // by location: its rank + 1; 0 if it isn't used
	protos    []uint32  // the used protos in order
	proto     []uint32  // by proto: its rank + 1
	sections  []section // those with sites, by name
	section   []uint32  // by ELF section: the index in sections
	begins    []uint32  // ascending string offsets in from; from each on, strings move further
	moved     []uint32  // by index in begins: how many bytes further down strings are in to
	names     []uint32  // by section: the string offset of its name
	before    []int     // by section: how many types of from come before its LOCSEC
}

type section struct {
	name  string // of the LOCSEC
	index uint32 // of the ELF section
	sites uint32 // how many there are
}

// used returns a set with the protos of all sites.
func (a *adder) used() []bool {
	used := make([]bool, a.sites.Protos())
	for i := range a.sites.List {
		used[a.sites.List[i].Proto] = true
	}
	return used
}

func (a *adder) rankLocations() {
	list := a.sites.Locations
	a.location = make([]uint32, len(list))
	for p, used := range a.used() {
		if !used {
			continue
		}
		for _, l := range a.sites.Proto(uint32(p)) {
			if l != 0 && a.location[l-1] == 0 {
				a.location[l-1] = 1
				a.locations = append(a.locations, l-1)
			}
		}
	}
	slices.SortFunc(a.locations, func(x, y uint32) int { return list[x].Compare(&list[y]) })
	for rank, l := range a.locations {
		a.location[l] = uint32(rank) + 1
	}
}

func (a *adder) rankProtos() {
	a.proto = make([]uint32, a.sites.Protos())
	for p, used := range a.used() {
		if used {
			a.protos = append(a.protos, uint32(p))
		}
	}
	slices.SortFunc(a.protos, func(x, y uint32) int {
		p, q := a.sites.Proto(x), a.sites.Proto(y)
		if len(p) != len(q) {
			return cmp.Compare(len(p), len(q))
		}
		for i := range p {
			if p[i] != q[i] {
				return cmp.Compare(a.rank(p[i]), a.rank(q[i]))
			}
		}
		return 0
	})
	for rank, p := range a.protos {
		a.proto[p] = uint32(rank) + 1
	}
}

// rank returns the rank + 1 of a location in a proto, or 0 if the location isn't known.
func (a *adder) rank(l uint32) uint32 {
	if l == 0 {
		return 0
	}
	return a.location[l-1]
}

// findSections lists the ELF sections that have sites, by name.
func (a *adder) findSections() {
	count := make([]uint32, len(a.sites.Sections))
	for i := range a.sites.List {
		count[a.sites.List[i].Section]++
	}
	a.section = make([]uint32, len(count))
	for i, n := range count {
		if n > 0 {
			a.sections = append(a.sections, section{prefix + a.sites.Sections[i], uint32(i), n})
		}
	}
	slices.SortFunc(a.sections, func(x, y section) int { return strings.Compare(x.name, y.name) })
	for i := range a.sections {
		a.section[a.sections[i].index] = uint32(i)
	}
}

// sortSites returns the sites of all sections, in the order of the LOCSECs, without duplicates. The
// sites of section i begin at the index begins[i].
func (a *adder) sortSites(id func(*inlines.Site) uint32, firstProto uint32) (sites []btf.Site,
	begins []uint32) {
	begins = make([]uint32, len(a.sections)+1)
	for i := range a.sections {
		begins[i+1] = begins[i] + a.sections[i].sites
	}
	sites = make([]btf.Site, len(a.sites.List))
	next := slices.Clone(begins)
	for i := range a.sites.List {
		s := &a.sites.List[i]
		at := &next[a.section[s.Section]]
		sites[*at] = btf.Site{Func: a.ref(id(s)), Offset: s.Offset,
			LocProto: firstProto + a.proto[s.Proto] - 1}
		*at++
	}
	end := uint32(0) // of the sites without duplicates
	for i := range a.sections {
		own := sites[begins[i]:begins[i+1]]
		a.sort(own)
		begins[i] = end
		end += uint32(copy(sites[end:], slices.Compact(own)))
	}
	begins[len(a.sections)] = end
	return sites[:end], begins
}

// count counts the sites. The LOC_PROTOs begin with the id firstProto.
func (a *adder) count(firstProto uint32) {
	known := make([]uint64, len(a.protos))
	for i, p := range a.protos {
		for _, l := range a.sites.Proto(p) {
			known[i] += uint64(min(l, 1))
		}
	}
	for i := range a.to.Sites {
		n := a.to.Sites[i].LocProto - firstProto
		a.counts.Sites++
		a.counts.Parameters += uint64(len(a.sites.Proto(a.protos[n])))
		a.counts.Known += known[n]
	}
}

// For fewer sites than fewSites, buckets aren't worth their memory.
const fewSites = 1 << 14

// sort sorts the sites of a section. Functions have few sites each, so many sites are first put
// into buckets, one for each function.
func (a *adder) sort(sites []btf.Site) {
	if len(sites) < fewSites {
		slices.SortFunc(sites, btf.Site.Compare)
		return
	}
	last := uint32(0)
	for i := range sites {
		last = max(last, sites[i].Func)
	}
	sorted, ends := types.Buckets(sites, int(last)+1,
		func(s btf.Site) uint32 { return s.Func })
	copy(sites, sorted)
	const part = 1 << 12 // functions
	parallel.Do(a.jobs, (len(ends)+part-1)/part, func(i int) {
		for f := i * part; f < min((i+1)*part, len(ends)-1); f++ {
			slices.SortFunc(sites[ends[f]:ends[f+1]], btf.Site.Compare)
		}
	})
}

// addStrings writes the strings of from and the names of the sections, sorted.
func (a *adder) addStrings(inBase func(string) uint32) {
	var out strings.Builder
	a.names = make([]uint32, len(a.sections))
	next, extra := 0, uint32(0)
	put := func(before string, all bool) {
		for ; next < len(a.sections) && (all || a.sections[next].name <= before); next++ {
			name := a.sections[next].name
			if !all && name == before {
				a.names[next] = a.to.BaseStrLen + uint32(out.Len())
				continue
			}
			if a.names[next] = inBase(name); a.names[next] == 0 {
				a.names[next] = a.to.BaseStrLen + uint32(out.Len())
				out.WriteString(name + "\x00")
				extra += uint32(len(name)) + 1
			}
		}
	}
	off := a.from.BaseStrLen
	for s := range strings.SplitAfterSeq(a.from.Strings, "\x00") {
		if s == "" {
			continue
		}
		before := extra
		if put(s[:len(s)-1], false); extra != before {
			a.begins, a.moved = append(a.begins, off), append(a.moved, extra)
		}
		out.WriteString(s)
		off += uint32(len(s))
	}
	put("", true)
	a.to.Strings = out.String()
}

// name returns the offset in to of the string at an offset in from.
func (a *adder) name(off uint32) uint32 {
	for i := len(a.begins) - 1; i >= 0; i-- {
		if off >= a.begins[i] {
			return off + a.moved[i]
		}
	}
	return off
}

// ref returns the id in to of a type in from.
func (a *adder) ref(id uint32) uint32 {
	if id < a.from.StartID || int(id-a.from.StartID) < a.anonymous {
		return id
	}
	at := int(id - a.from.StartID)
	id += uint32(len(a.locations) + len(a.protos))
	for _, n := range a.before {
		if at >= n {
			id++
		}
	}
	return id
}

func (a *adder) addTypes(id func(*inlines.Site) uint32) {
	from, to := a.from, a.to
	a.anonymous = slices.IndexFunc(from.Types, func(t btf.Type) bool { return t.NameOff != 0 })
	if a.anonymous < 0 {
		a.anonymous = len(from.Types)
	}
	a.before = make([]int, len(a.sections))
	for i, at := 0, a.anonymous; i < len(a.sections); i++ {
		for at < len(from.Types) && from.TypeName(&from.Types[at]) < a.sections[i].name {
			at++
		}
		a.before[i] = at
	}
	for i := range a.anonymous {
		to.Copy(from, &from.Types[i], a.name, a.ref)
	}
	build := btf.Builder{Blob: to}
	first := build.NextID()
	for _, l := range a.locations {
		at := a.sites.At(l)
		build.LocParam(at.Size, at.Flags, at.Values[:at.Count]...)
	}
	firstProto := build.NextID()
	var params []uint32
	for _, p := range a.protos {
		params = params[:0]
		for _, l := range a.sites.Proto(p) {
			if rank := a.rank(l); rank == 0 {
				params = append(params, 0)
			} else {
				params = append(params, first+rank-1)
			}
		}
		build.LocProto(params...)
	}
	sites, begins := a.sortSites(id, firstProto)
	to.Sites = sites
	a.count(firstProto)
	next := 0
	put := func(at int) {
		for ; next < len(a.sections) && a.before[next] == at; next++ {
			build.Add(btf.Type{Kind: btf.KindLocsec, NameOff: a.names[next], First: begins[next],
				Vlen: begins[next+1] - begins[next]})
		}
	}
	for i := a.anonymous; i < len(from.Types); i++ {
		put(i)
		to.Copy(from, &from.Types[i], a.name, a.ref)
	}
	put(len(from.Types))
}
