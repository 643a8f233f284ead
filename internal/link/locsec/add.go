// Package locsec adds the sites at which functions were inlined to the BTF that has the functions,
// joins such BTF with its base, and splits it again.
package locsec

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Counts are the numbers of sites, of their parameters, and of parameters whose location is known.
type Counts struct{ Sites, Parameters, Known uint64 }

func (c *Counts) add(o *Counts) {
	c.Sites += o.Sites
	c.Parameters += o.Parameters
	c.Known += o.Known
}

// Add returns BTF with the types of b and the sites in the list, which can't be used again. The
// order is the canonical one of package write: the LOC_PARAMs and LOC_PROTOs, sorted by content,
// come after the other anonymous types, and the LOCSECs are among the named types. The function
// inBase returns the offset of a string in the bases, or 0 if they don't have it. The ids in the
// list are those of functions in b or its bases.
// Rule: sites of inlined functions: the records. Source: resolve_btfids of Linux 7.4.
func (l *List) Add(b *btf.Blob, inBase func(string) uint32) (*btf.Blob, Counts) {
	a := adder{List: l, from: b, to: &btf.Blob{Order: b.Order, Base: b.Base,
		StartID: b.StartID, BaseStrLen: b.BaseStrLen}}
	a.addStrings(inBase)
	a.addTypes()
	return a.to, a.counts
}

type adder struct {
	*List
	from, to *btf.Blob

	counts    Counts
	anonymous int      // how many types of from are anonymous
	begins    []uint32 // ascending string offsets in from; from each on, strings move further
	moved     []uint32 // by index in begins: how many bytes further down strings are in to
	names     []uint32 // by section: the string offset of its name
	before    []int    // by section: how many types of from come before its LOCSEC
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

func (a *adder) addTypes() {
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
	a.makeRoom()
	for i := range a.anonymous {
		to.Copy(from, &from.Types[i], a.name, a.ref)
	}
	build := btf.Builder{Blob: to}
	first := build.NextID()
	for _, l := range a.locations {
		at := a.in.At(l)
		build.LocParam(at.Size, at.Flags, at.Values[:at.Count]...)
	}
	firstProto := build.NextID()
	var params []uint32
	for _, p := range a.protos {
		params = params[:0]
		for _, l := range a.in.Proto(p) {
			if rank := a.rank(l); rank == 0 {
				params = append(params, 0)
			} else {
				params = append(params, first+rank-1)
			}
		}
		build.LocProto(params...)
	}
	a.counts = a.put(firstProto, a.ref)
	to.Sites = a.List.sites
	next, firstSite := 0, uint32(0)
	put := func(at int) {
		for ; next < len(a.sections) && a.before[next] == at; next++ {
			n := a.sections[next].sites
			build.Add(btf.Type{Kind: btf.KindLocsec, NameOff: a.names[next], First: firstSite, Vlen: n})
			firstSite += n
		}
	}
	for i := a.anonymous; i < len(from.Types); i++ {
		put(i)
		to.Copy(from, &from.Types[i], a.name, a.ref)
	}
	put(len(from.Types))
}

// makeRoom allocates the arenas of to.
func (a *adder) makeRoom() {
	words := 0
	for _, l := range a.locations {
		words += int(a.in.Locations[l].Count)
	}
	for _, p := range a.protos {
		words += len(a.in.Proto(p))
	}
	from, to := a.from, a.to
	types := len(from.Types) + len(a.locations) + len(a.protos) + len(a.sections)
	to.Types, to.Words = make([]btf.Type, 0, types), make([]uint32, 0, words)
	to.Params = make([]btf.Param, 0, len(from.Params))
}
