package object

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// refineBudget bounds the work of refine, in references looked at. A kernel whose BTF holds a
// thousand types several times needs about a million.
const refineBudget = 1 << 27

// definitions tells the definitions of tags apart that one BTF holds several of.
type definitions struct {
	*records
	order  []uint32     // ids, children first
	hashes []types.Hash // by id: the content hash, as far as it is known
	// definitions of tags that have several, or that are in apart: the latest colour
	multi map[uint32]types.Hash
	apart map[tagName]bool // tags that one blob of a chain defines and another one declares
	// types whose shape refers to one of multi, themselves included, children first
	reach []uint32
	in    []bool // by id: in reach
}

// pins returns, for each definition of a tag of which there are several different ones, or which
// another blob of the chain only declares, the hash that tells it from the others. Definitions of
// equal content get the same hash: colours are refined from the content with stubs, by replacing
// each reference to such a definition with the colour of the last round, until no further round
// tells more of them apart. The result is the coarsest partition, whatever the ids are.
func (r *records) pins(order []uint32) (map[uint32]types.Hash, error) {
	d := &definitions{records: r, order: order}
	if err := d.find(); err != nil || len(d.multi) == 0 {
		return nil, err
	}
	if err := d.trace(); err != nil {
		return nil, err
	}
	if err := d.refine(); err != nil {
		return nil, err
	}
	return d.final()
}

type tagName struct {
	tag  types.Tag
	name types.Str
}

func (r *records) tagOf(id uint32) (k tagName, err error) {
	t, _ := r.at(id)
	k.tag = types.TagOf(types.Kind(t.Kind))
	k.name, err = r.name(t.NameOff)
	return k, err
}

// find collects the definitions of tags that have more than one, and of those that other blobs of
// the chain declare.
func (d *definitions) find() error {
	if err := d.findApart(); err != nil {
		return err
	}
	first := make(map[tagName]uint32)
	d.multi = map[uint32]types.Hash{}
	for id := uint32(1); id < d.end; id++ {
		t, _ := d.at(id)
		if !d.tagged(t) || d.declared(t) != 0 {
			continue
		}
		k, err := d.tagOf(id)
		if err != nil {
			return err
		}
		if d.apart[k] {
			d.multi[id] = types.Hash{}
		}
		if f, ok := first[k]; ok {
			d.multi[f], d.multi[id] = types.Hash{}, types.Hash{}
		} else {
			first[k] = id
		}
	}
	return nil
}

// findApart finds the tags that are declared in another blob of the chain than one that defines
// them. There a type that leads to the declaration is another one than a type that leads to the
// definition; within one blob they are the same.
func (d *definitions) findApart() error {
	if len(d.layers) < 2 {
		return nil
	}
	type span struct{ first, last int }
	declared := map[tagName]span{}
	each := func(f func(layer int, k tagName, declares bool)) error {
		for i := range d.layers {
			for id := d.layers[i].StartID; id < d.layers[i].EndID(); id++ {
				t, _ := d.at(id)
				if !d.tagged(t) {
					continue
				}
				k, err := d.tagOf(id)
				if err != nil {
					return err
				}
				if tag := d.declared(t); tag != 0 {
					k.tag = tag
					f(i, k, true)
				} else {
					f(i, k, false)
				}
			}
		}
		return nil
	}
	if err := each(func(layer int, k tagName, declares bool) {
		if s, ok := declared[k]; declares && ok {
			declared[k] = span{s.first, layer}
		} else if declares {
			declared[k] = span{layer, layer}
		}
	}); err != nil {
		return err
	}
	d.apart = map[tagName]bool{}
	return each(func(layer int, k tagName, declares bool) {
		if s, ok := declared[k]; ok && !declares && s != (span{layer, layer}) {
			d.apart[k] = true
		}
	})
}

// trace finds reach, and the hashes of all types outside of it that those inside refer to.
func (d *definitions) trace() error {
	d.hashes = make([]types.Hash, d.end)
	d.in = make([]bool, d.end)
	var rec record
	for _, id := range d.order {
		t, l := d.at(id)
		_, in := d.multi[id]
		l.refs(t, func(child uint32) {
			if child == 0 {
				return
			}
			if c, _ := d.at(child); d.crosses(t, c) {
				_, ok := d.multi[child]
				in = in || ok
			} else {
				in = in || d.in[child]
			}
		})
		d.in[id] = in
		if in {
			d.reach = append(d.reach, id)
			continue
		}
		var err error
		if d.hashes[id], err = d.hash(id, &rec); err != nil {
			return err
		}
	}
	return nil
}

// hash is the content hash of id with the present colours as pins.
func (d *definitions) hash(id uint32, rec *record) (types.Hash, error) {
	if err := d.decode(id, rec); err != nil {
		return types.Hash{}, err
	}
	t, _ := d.at(id)
	ref := func(child types.ID) types.Hash {
		if child == 0 {
			return types.Hash{}
		}
		c, _ := d.at(uint32(child))
		if !d.crosses(t, c) {
			return d.hashes[child]
		}
		tag := d.declared(c)
		if tag == 0 {
			tag = types.TagOf(types.Kind(c.Kind))
		}
		name, _ := d.name(c.NameOff)
		stub := types.HashStub(tag, d.g.Strs.Hash(name))
		if pin, ok := d.multi[uint32(child)]; ok {
			h := types.Start(types.KindStub, 1, uint32(tag), stub, pin)
			return h.Sum(true)
		}
		return stub
	}
	h := types.Start(rec.Kind, rec.Size, rec.Aux, d.g.Strs.Hash(rec.Name), ref(rec.Ref))
	for i := range rec.elems {
		e := &rec.elems[i]
		h.Elem(d.g.Strs.Hash(e.Name), ref(e.Ref), e.Val)
	}
	return h.Sum(rec.Flag), nil
}

// round gives every definition of multi its next colour, and counts the different ones.
func (d *definitions) round(budget *int) (int, error) {
	var rec record
	for _, id := range d.reach {
		h, err := d.hash(id, &rec)
		if err != nil {
			return 0, err
		}
		d.hashes[id] = h
		if *budget -= 2 + len(rec.elems); *budget < 0 {
			return 0, fmt.Errorf("BTF: the definitions of tags that occur several times refer to each other too deeply to be told apart")
		}
	}
	distinct := make(map[types.Hash]struct{}, len(d.multi))
	for id := range d.multi {
		d.multi[id] = d.hashes[id]
		distinct[d.hashes[id]] = struct{}{}
	}
	return len(distinct), nil
}

func (d *definitions) refine() error {
	budget := refineBudget
	for last := 0; ; {
		n, err := d.round(&budget)
		if err != nil {
			return err
		}
		if n == last {
			return nil
		}
		last = n
	}
}

// final returns the pins. A colour describes a definition down to as many references as there were
// rounds; joined with the colours of all definitions in this and in one more round, which spell out
// how they refer to each other, it describes the definition completely.
func (d *definitions) final() (map[uint32]types.Hash, error) {
	before := make(map[uint32]types.Hash, len(d.multi))
	colours := map[tagName]map[types.Hash]bool{}
	for id, c := range d.multi {
		k, err := d.tagOf(id)
		if err != nil {
			return nil, err
		}
		if colours[k] == nil {
			colours[k] = map[types.Hash]bool{}
		}
		colours[k][c] = true
		before[id] = c
	}
	budget := refineBudget
	if _, err := d.round(&budget); err != nil {
		return nil, err
	}
	after := map[types.Hash]types.Hash{}
	for id, c := range before {
		after[c] = d.multi[id]
	}
	var list []types.Hash
	for c := range after {
		list = append(list, c)
	}
	slices.SortFunc(list, types.Hash.Cmp)
	all := types.Start(types.KindStub, 0, 0, types.Hash{}, types.Hash{})
	for _, c := range list {
		all.Elem(c, after[c], 0)
	}
	system := all.Sum(false)
	pins := map[uint32]types.Hash{}
	for id, c := range before {
		k, _ := d.tagOf(id)
		if len(colours[k]) > 1 || d.apart[k] {
			h := types.Start(types.KindStub, 0, 0, c, system)
			pins[id] = h.Sum(false)
		}
	}
	return pins, nil
}
