package locsec

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// List has sites, sorted by section, function, offset and proto, without duplicates.
type List struct {
	*Locations
	sections []section  // those with sites, by name
	parts    []part     // of all sections, in order
	sites    []btf.Site // LocProto is the rank of a proto
	jobs     int
}

type section struct {
	name  string // of the LOCSEC
	index int    // of the ELF section
	begin uint32 // of its sites in List.sites, before duplicates are removed
	end   uint32
	sites uint32 // without duplicates
}

// part is some sites of a section: all if there are few, otherwise those of some functions.
type part struct {
	section     int
	begin       uint32   // in List.sites, before duplicates are removed
	sites       uint32   // how many there are, without duplicates
	buckets     *buckets // of the section; nil: the sites are in List.sites
	first, last uint32   // the functions in buckets
}

// buckets are the sites of a section by function.
type buckets struct {
	keys  []uint64 // see key
	ends  []uint32 // by function
	count []uint32 // by function: the sites without duplicates
}

// key orders the sites of a function in a section.
func key(s *btf.Site) uint64 { return uint64(s.Offset)<<32 | uint64(s.LocProto) }

// prefix is how the name of a LOCSEC begins. The name of the ELF section follows, as in
// inline.text.
const prefix = "inline"

// List sorts the sites. ids has the type ids of the functions: those of the functions in
// sites.Units[u] are in ids[u]. If a function was inlined twice at one address, and the locations
// are the same, only one site is kept.
func (l *Locations) List(ids [][]uint32, jobs int) *List {
	list := &List{Locations: l, jobs: jobs}
	list.collect(ids)
	list.divide()
	parallel.Do(jobs, len(list.parts), func(i int) { list.sort(&list.parts[i]) })
	for i := range list.parts {
		list.sections[list.parts[i].section].sites += list.parts[i].sites
	}
	return list
}

// someSites is how many sites a thread handles before it takes more.
const someSites = 1 << 14

// collect puts the sites of each section together.
func (l *List) collect(ids [][]uint32) {
	type group struct {
		begin, end int      // of units
		next       []uint32 // by ELF section: how many sites there are, then where they go in l.sites
	}
	var groups []group
	in := l.in
	all, some := 0, 0
	most := max(someSites, len(in.Sections)) // so that the groups take no more memory than the sites
	for u := range in.Units {
		n := len(in.Units[u].List)
		if all += n; len(groups) == 0 || some+n > most {
			groups, some = append(groups, group{u, u, make([]uint32, len(in.Sections))}), 0
		}
		groups[len(groups)-1].end++
		some += n
	}
	parallel.Do(l.jobs, len(groups), func(i int) {
		g := &groups[i]
		for u := g.begin; u < g.end; u++ {
			for k := range in.Units[u].List {
				g.next[in.Units[u].List[k].Section]++
			}
		}
	})
	for i, name := range in.Sections {
		for _, g := range groups {
			if g.next[i] > 0 {
				l.sections = append(l.sections, section{name: prefix + name, index: i})
				break
			}
		}
	}
	slices.SortFunc(l.sections, func(x, y section) int { return strings.Compare(x.name, y.name) })
	at := uint32(0)
	for i := range l.sections {
		s := &l.sections[i]
		s.begin = at
		for _, g := range groups {
			g.next[s.index], at = at, at+g.next[s.index]
		}
		s.end = at
	}
	l.sites = make([]btf.Site, all)
	parallel.Do(l.jobs, len(groups), func(i int) {
		g := &groups[i]
		for u := g.begin; u < g.end; u++ {
			own := ids[u]
			for k := range in.Units[u].List {
				s := &in.Units[u].List[k]
				at := &g.next[s.Section]
				l.sites[*at] = btf.Site{Func: own[s.Function], Offset: s.Offset, LocProto: l.proto[s.Proto]}
				*at++
			}
		}
	})
}

// A section with fewer sites than fewSites isn't divided.
const fewSites = 1 << 14

// divide divides the sections into parts.
func (l *List) divide() {
	for i := range l.sections {
		s := &l.sections[i]
		b := newBuckets(l.sites[s.begin:s.end])
		if b == nil {
			l.parts = append(l.parts, part{section: i, begin: s.begin})
			continue
		}
		p := part{section: i, begin: s.begin, buckets: b}
		for f, end := range b.ends {
			if end-(p.begin-s.begin) < someSites && f+1 < len(b.ends) {
				continue
			}
			p.last = uint32(f)
			l.parts = append(l.parts, p)
			p.begin, p.first = s.begin+end, uint32(f)+1
		}
	}
}

// newBuckets returns nil if buckets aren't worth their memory.
func newBuckets(sites []btf.Site) *buckets {
	last := uint32(0)
	for i := range sites {
		last = max(last, sites[i].Func)
	}
	if len(sites) < fewSites || uint64(last) > 4*uint64(len(sites)) {
		return nil
	}
	b := &buckets{make([]uint64, len(sites)), make([]uint32, last+1), make([]uint32, last+1)}
	for i := range sites {
		b.ends[sites[i].Func]++
	}
	at := uint32(0)
	for f, n := range b.ends {
		b.ends[f] = at // where the next site of f goes
		at += n
	}
	for i := range sites {
		next := &b.ends[sites[i].Func]
		b.keys[*next] = key(&sites[i])
		*next++
	}
	return b
}

// of returns the keys of a function's sites.
func (b *buckets) of(f uint32) []uint64 {
	begin := uint32(0)
	if f > 0 {
		begin = b.ends[f-1]
	}
	return b.keys[begin:b.ends[f]]
}

// sort sorts the sites of a part, and removes duplicates.
func (l *List) sort(p *part) {
	if p.buckets == nil {
		s := &l.sections[p.section]
		sites := l.sites[s.begin:s.end]
		slices.SortFunc(sites, btf.Site.Compare)
		p.sites = uint32(len(slices.Compact(sites)))
		return
	}
	for f := p.first; f <= p.last; f++ {
		keys := p.buckets.of(f)
		slices.Sort(keys)
		n := uint32(len(slices.Compact(keys)))
		p.buckets.count[f] = n
		p.sites += n
	}
}

// put replaces l.sites with the sites as they are written: without duplicates, with the ids of the
// LOC_PROTOs, which begin with firstProto, and with the ids that ref returns for the functions.
func (l *List) put(firstProto uint32, ref func(uint32) uint32) Counts {
	begins, at := make([]uint32, len(l.parts)), uint32(0)
	for i := range l.parts {
		p := &l.parts[i]
		if p.buckets == nil && at < p.begin { // no later part's sites are there
			copy(l.sites[at:], l.sites[p.begin:p.begin+p.sites])
		}
		begins[i] = at
		at += p.sites
	}
	l.sites = l.sites[:at]
	protos := make([]Counts, len(l.protos)) // of a site with the proto
	for i, p := range l.protos {
		protos[i] = Counts{Sites: 1, Parameters: uint64(len(l.in.Proto(p)))}
		for _, n := range l.in.Proto(p) {
			protos[i].Known += uint64(min(n, 1))
		}
	}
	counts := make([]Counts, len(l.parts))
	parallel.Do(l.jobs, len(l.parts), func(i int) {
		p, c := &l.parts[i], Counts{}
		to := l.sites[begins[i]:][:p.sites]
		if p.buckets == nil {
			for i := range to {
				c.add(&protos[to[i].LocProto])
				to[i].Func, to[i].LocProto = ref(to[i].Func), firstProto+to[i].LocProto
			}
		} else {
			for f := p.first; f <= p.last; f++ {
				id := ref(f)
				for i, key := range p.buckets.of(f)[:p.buckets.count[f]] {
					proto := uint32(key)
					c.add(&protos[proto])
					to[i] = btf.Site{Func: id, Offset: uint32(key >> 32), LocProto: firstProto + proto}
				}
				to = to[p.buckets.count[f]:]
			}
		}
		counts[i] = c
	})
	var all Counts
	for i := range counts {
		all.add(&counts[i])
	}
	return all
}
