// Package locsec adds the sites at which functions were inlined to the BTF that has the functions.
package locsec

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// prefix is the beginning of the name of a LOCSEC. The name of the ELF section follows.
const prefix = "inline"

// Add returns BTF with the types of b and the sites s. The order is the canonical one of package
// write: the LOC_PARAMs and LOC_PROTOs, by content, come after the other anonymous types, and the
// LOCSECs are among the named types. The function inBase returns the offset of a string in the
// bases, or 0. The function id returns the id in b or its bases of the function of a site.
func Add(b *btf.Blob, s *inlines.Sites, inBase func(string) uint32,
	id func(*inlines.Site) uint32) *btf.Blob {
	a := adder{from: b, sites: s, to: &btf.Blob{Order: b.Order, Base: b.Base, StartID: b.StartID,
		BaseStrLen: b.BaseStrLen}}
	a.rankLocations()
	a.rankProtos()
	a.findSections()
	a.addStrings(inBase)
	a.addTypes(id)
	return a.to
}

type adder struct {
	from, to *btf.Blob
	sites    *inlines.Sites

	anonymous int            // how many types of from are anonymous
	locations []uint32       // the used locations in order
	location  []uint32       // by location: its rank + 1; 0 if it isn't used
	protos    []uint32       // the used protos in order
	proto     []uint32       // by proto: its rank + 1
	sections  []section      // those with sites, by name
	section   map[uint32]int // by ELF section: the index in sections
	begins    []uint32       // string offsets in from, ascending, at which strings are moved
	moved     []uint32       // by index in begins: by how many bytes
	names     []uint32       // by section: the string offset of its name
	before    []int          // by section: how many types of from come before its LOCSEC
}

type section struct {
	name  string
	sites []btf.Site
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

func (a *adder) findSections() {
	count := make([]int, len(a.sites.Sections))
	for i := range a.sites.List {
		count[a.sites.List[i].Section]++
	}
	of := map[int]uint32{}
	for i, n := range count {
		if n > 0 {
			of[len(a.sections)] = uint32(i)
			a.sections = append(a.sections, section{name: prefix + a.sites.Sections[i],
				sites: make([]btf.Site, 0, n)})
		}
	}
	order := make([]int, len(a.sections))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return strings.Compare(a.sections[x].name, a.sections[y].name)
	})
	a.section = map[uint32]int{}
	sorted := make([]section, len(order))
	for rank, i := range order {
		sorted[rank] = a.sections[i]
		a.section[of[i]] = rank
	}
	a.sections = sorted
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
	for i := range a.sites.List {
		s := &a.sites.List[i]
		of := &a.sections[a.section[s.Section]]
		of.sites = append(of.sites, btf.Site{Func: a.ref(id(s)), Offset: s.Offset,
			LocProto: firstProto + a.proto[s.Proto] - 1})
	}
	next := 0
	put := func(at int) {
		for ; next < len(a.sections) && a.before[next] == at; next++ {
			sites := a.sections[next].sites
			slices.SortFunc(sites, btf.Site.Compare)
			first := len(to.Sites)
			to.Sites = append(to.Sites, sites...)
			a.sections[next].sites = nil
			build.Add(btf.Type{Kind: btf.KindLocsec, NameOff: a.names[next], First: uint32(first),
				Vlen: uint32(len(sites))})
		}
	}
	for i := a.anonymous; i < len(from.Types); i++ {
		put(i)
		to.Copy(from, &from.Types[i], a.name, a.ref)
	}
	put(len(from.Types))
}
