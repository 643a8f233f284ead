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
	several bool // a source has several compilation units, or there are several sources
}

// listed is a unit that is to be copied.
type listed struct {
	unitKey
	name      string
	order     int // of its source, and of the unit in that
	size      uint64
	typeUnit  bool // it is a type unit
	signature uint64
	withTypes bool // it may refer to type units
}

// makePlan opens the sources and lists their units. A single source stays open.
func makePlan(inputs []elf.Input, opt *Options) (*plan, error) {
	p := &plan{several: len(inputs) > 1}
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
	for i := range p.units {
		// Where there is one compilation unit, all type units are its own.
		p.units[i].withTypes = p.units[i].withTypes || !p.several
	}
	p.like = likes[0]
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
		n := 0
		if !u.typeUnit && !u.withTypes {
			n = shardOf(name, shards)
		}
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
	if d.HasTypeUnits() && len(p.sources) > 1 {
		return nil, like, fmt.Errorf("%s: type units in an archive can't be split; compile without "+
			"-fdebug-types-section, or convert the archive as a whole", src.file.Path)
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
			"dwz -m, which is not read; run dwz without -m", src.file.Path)
	}
	all := 0
	for i := range d.Units {
		if d.Units[i].Kind == dwarf.UnitCompile {
			all++
		}
	}
	if len(p.sources) == 1 {
		p.several = all > 1
	}
	return slices.Concat(lists...), like, nil
}

// listUnits lists some of a source's units. complete: one of them is no partial one.
func listUnits(src *source, units []dwarf.Unit, opt *Options) (list []listed, complete bool,
	err error) {
	d := src.data
	hasTypes := d.HasTypeUnits()
	var r dwarf.Reader
	for i := range units {
		h := &units[i]
		if h.Kind == dwarf.UnitPartial {
			continue
		}
		u := listed{unitKey: unitKey{src, h.Section.Index, h.Off}, size: h.Len}
		if h.Kind == dwarf.UnitType {
			if d.TypeUnit(h.Signature) == h { // of several of one signature the first counts
				u.typeUnit, u.signature, complete = true, h.Signature, true
				u.name = fmt.Sprintf("%016x", h.Signature)
				list = append(list, u)
			}
			continue
		}
		if err := r.Load(d, h); err != nil {
			return nil, false, err
		}
		root := &r.Root
		if root.Tag == std.TagPartialUnit {
			continue
		}
		complete = true
		switch {
		case root.Tag != std.TagCompileUnit:
			return nil, false, r.Errorf(root.Off, "the unit's first entry is %v, not a compilation unit",
				root.Tag)
		case root.Has(dwarf.DwoName):
			return nil, false, r.Errorf(root.Off,
				"split DWARF: the types are in a .dwo file; compile without -gsplit-dwarf")
		case root.Has(dwarf.Language) && opt.Excluded[root.Val[dwarf.Language]]:
			continue
		}
		name, err := r.String(root, dwarf.Name)
		if err != nil {
			return nil, false, err
		}
		u.name = string(name)
		u.withTypes = hasTypes && r.RefersOut()
		list = append(list, u)
	}
	return list, complete, nil
}
