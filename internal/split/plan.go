package split

import (
	"cmp"
	std "debug/dwarf"
	"fmt"
	"reflect"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
	"github.com/rules-btf/rules_btf/internal/parallel"
)

// plan says which units go to which shard.
type plan struct {
	like    *elfwrite.Object // the machine of all sources
	sources []*source
	units   []listed
	shards  [][]listed
	merged  bool // there is one source, in which equal strings have equal offsets
}

// listed is a unit that is to be copied.
type listed struct {
	unitKey
	name   string
	order  int // of its source, and of the unit in that
	size   uint64
	orphan bool      // a type unit that is a unit of its own (convert.Orphans)
	own    []unitKey // the orphans that belong to the unit instead
}

// makePlan opens the sources and lists their units. A single source stays open.
func makePlan(inputs []elf.Input, opt *Options) (*plan, error) {
	p := new(plan)
	for _, in := range inputs {
		p.sources = append(p.sources, &source{input: in})
	}
	if len(p.sources) == 1 {
		if err := p.sources[0].open(); err != nil {
			return nil, err
		}
	}
	lists, likes := make([][]listed, len(inputs)), make([]*elfwrite.Object, len(inputs))
	errs := make([]error, len(inputs))
	parallel.Do(opt.Jobs, len(inputs), func(i int) {
		lists[i], likes[i], errs[i] = p.list(p.sources[i], opt)
	})
	for i := range inputs {
		if errs[i] != nil {
			return p, errs[i]
		}
		if !reflect.DeepEqual(likes[i], likes[0]) {
			return p, fmt.Errorf("%s is for another machine or ABI than %s", inputs[i].Label,
				inputs[0].Label)
		}
		for _, u := range lists[i] {
			u.order = len(p.units)
			p.units = append(p.units, u)
		}
	}
	p.like = likes[0]
	if len(p.sources) == 1 {
		p.merged = mergedStrings(p.sources[0].file)
	}
	p.assign(opt.Shards)
	return p, nil
}

// close closes the source that makePlan left open.
func (p *plan) close() {
	if len(p.sources) == 1 && p.sources[0].users > 0 {
		p.sources[0].close()
	}
}

// assign makes the shards.
func (p *plan) assign(shards int) {
	names := make([]string, len(p.units))
	for i := range p.units {
		names[i] = p.units[i].name
	}
	p.shards = make([][]listed, shards)
	for i, name := range stableNames(names) {
		u := p.units[i]
		u.name = name
		n := shardOf(name, shards)
		p.shards[n] = append(p.shards[n], u)
	}
	for _, list := range p.shards {
		slices.SortFunc(list, func(a, b listed) int {
			return cmp.Or(cmp.Compare(a.name, b.name), a.order-b.order)
		})
	}
}

// list lists the units of a source.
func (p *plan) list(src *source, opt *Options) ([]listed, *elfwrite.Object, error) {
	if err := src.open(); err != nil {
		return nil, nil, err
	}
	defer src.close()
	d := src.data
	like := elfwrite.Like(src.file)
	if len(d.Units) == 0 {
		return nil, like, convert.CheckEmpty(src.file)
	}
	const size = 64 // units read by one Reader
	chunks := (len(d.Units) + size - 1) / size
	lists, errs := make([][]listed, chunks), make([]error, chunks)
	complete := make([]bool, chunks)
	jobs := opt.Jobs
	if len(p.sources) > 1 {
		jobs = 1
	}
	parallel.Do(jobs, chunks, func(i int) {
		units := d.Units[i*size : min((i+1)*size, len(d.Units))]
		lists[i], complete[i], errs[i] = listUnits(src, units, opt)
	})
	for _, err := range errs {
		if err != nil {
			return nil, like, err
		}
	}
	if !slices.Contains(complete, true) {
		return nil, like, fmt.Errorf("%s: the DWARF has partial units only: a supplementary file of "+
			"dwz -m, which btfgen split doesn't read", src.file.Path)
	}
	list, err := addOrphans(src, slices.Concat(lists...), opt)
	return list, like, err
}

// addOrphans adds the type units of a source that no compilation unit refers to: to the one unit
// that there is, or as units of their own.
func addOrphans(src *source, list []listed, opt *Options) ([]listed, error) {
	if !src.data.HasTypeUnits() {
		return list, nil
	}
	orphans, single, err := convert.Orphans(src.data, opt.Excluded)
	if err != nil {
		return nil, err
	}
	for _, h := range orphans {
		key := keyOf(src, h)
		switch {
		case !single:
			list = append(list, listed{unitKey: key, size: h.Len, orphan: true,
				name: fmt.Sprintf("%016x", h.Signature)})
		case len(list) > 0: // it is not left out for its language
			list[0].own = append(list[0].own, key)
		}
	}
	return list, nil
}

// listUnits lists some of a source's units, without type units. complete: one of them is no partial
// one.
func listUnits(src *source, units []dwarf.Unit, opt *Options) (list []listed, complete bool,
	err error) {
	d := src.data
	var r dwarf.Reader
	for i := range units {
		h := &units[i]
		if h.Kind != dwarf.UnitCompile {
			complete = complete || h.Kind == dwarf.UnitType
			continue
		}
		u := listed{unitKey: keyOf(src, h), size: h.Len}
		if err := r.Load(d, h); err != nil {
			return nil, false, err
		}
		root := &r.Root
		if root.Tag == std.TagPartialUnit {
			continue
		}
		complete = true
		switch {
		case root.Has(dwarf.DwoName), root.Tag == std.TagSkeletonUnit:
			return nil, false, r.Errorf(root.Off,
				"split DWARF: the unit is in a .dwo file, which btfgen split doesn't read; convert the file "+
					"with btfgen object or btfgen elf")
		case root.Tag != std.TagCompileUnit:
			return nil, false, r.Errorf(root.Off, "the unit's first entry is %v, not a compilation unit",
				root.Tag)
		case root.Has(dwarf.Language) && opt.Excluded[root.Val[dwarf.Language]]:
			continue
		}
		name, err := r.String(root, dwarf.Name)
		if err != nil {
			return nil, false, err
		}
		u.name = string(name)
		list = append(list, u)
	}
	return list, complete, nil
}
