package decide

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// part decides on the functions with some of the names, because several threads can work on parts.
// Each part has a copy of the decider, with its own results, which join takes.
type part struct {
	decider
	from, to types.Str // the numbers of the names
	names    int       // how many of these have candidates
	suffixed []suffixed
	alone    []types.Str // base names of clones that no candidate has
}

// suffixed is a name that may be that of a clone.
type suffixed struct {
	name types.Str
	dot  int        // where the suffix begins
	base types.Hash // of the name without the suffix
}

// partNames is how many names, of functions or not, a part has.
const partNames = 1 << 12

// split makes parts for all names.
func (d *decider) split() []part {
	end := d.shapes.Graph.Strs.Len()
	parts := make([]part, (end+partNames-1)/partNames)
	for i := range parts {
		p := &parts[i]
		p.decider = *d
		p.Decisions = &Decisions{first: d.first, encoded: map[Type]Type{}}
		p.kfuncs = map[types.Str]Type{}
		p.from, p.to = types.Str(i*partNames), types.Str(min((i+1)*partNames, end))
	}
	return parts
}

// join adds the functions of a part to those of d.
func (d *decider) join(p *part) {
	shift := Type(len(d.functions))
	d.functions = append(d.functions, p.functions...)
	for name, made := range p.kfuncs {
		d.kfuncs[name] = made + shift
	}
	for k, made := range p.encoded {
		d.encoded[k] = made + shift
	}
	d.Skipped = append(d.Skipped, p.Skipped...)
	p.Decisions = nil // for the garbage collector
}

// findSuffixed lists the names that have a suffix, a candidate and, if there are facts, a symbol.
// Without facts, functions that an earlier link encoded aren't clones.
func (p *part) findSuffixed() {
	for name := range p.types.Held.Functions.KeysIn(p.from, p.to) {
		p.names++
		b := p.shapes.Graph.Strs.Bytes(name)
		dot := bytes.IndexByte(b, '.')
		if dot <= 0 || p.facts != nil && p.symbols.Of(name)&symbols.Exact == 0 {
			continue
		}
		group := p.holders(types.KindFunc, name)
		if len(group) == 0 || p.facts == nil &&
			slices.ContainsFunc(group, func(h Holder) bool { return h.FromBTF }) {
			continue
		}
		p.suffixed = append(p.suffixed, suffixed{name, dot, types.HashString(b[:dot])})
	}
}

// decide decides on the candidates for all names, except for the undecided names: these need the
// places.
func (p *part) decide(c *clones) {
	p.functions = make([]function, 0, p.names)
	for name := range p.types.Held.Functions.KeysIn(p.from, p.to) {
		switch c.roles[name] {
		case asItself:
			p.encodeFunction(name, p.candidates(name, nil))
		case hasClones:
			p.encodeFunction(name, p.candidates(name, c.of[name]))
		}
	}
	p.decideOn(p.alone, c)
}

func (p *part) decideOn(names []types.Str, c *clones) {
	for _, name := range names {
		p.encodeFunction(name, p.candidates(name, c.of[name]))
	}
}
