package object

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Merge is the union of objects: of their shapes, and of their units with counts added. It leaves
// the objects as they are, but the union may share lists of items with them. Objects of different
// targets, or whose units were made with different features, are an error that names the two by
// their position. Raw BTF (Target.Machine 0) goes with every target of its byte order, and linked
// units with all features.
func Merge(objs ...*Object) (*Object, error) {
	m := NewMerger()
	for i, o := range objs {
		if err := m.Add(fmt.Sprintf("object %d", i+1), o); err != nil {
			return nil, err
		}
	}
	return m.Object(), nil
}

// Join is the union of parts that were made together, of one file by one converter, such as its
// threads' shares. Several may be based on one graph. The parts are used up: the result takes over
// their memory. Units of equal content stay apart, which means the same.
func Join(parts []*Object) (*Object, error) {
	o := parts[0]
	imported := map[*types.Graph][]types.ID{}
	for _, p := range parts[1:] {
		if p.Graph == o.Graph {
			o.Units = append(o.Units, p.Units...)
			continue
		}
		ids, ok := imported[p.Graph]
		if !ok {
			var err error
			if ids, err = o.Graph.Import(p.Graph); err != nil {
				return nil, err
			}
			imported[p.Graph] = ids
		}
		for _, u := range p.Units {
			for i, id := range u.Items {
				u.Items[i] = ids[id]
			}
			u.File = o.Graph.Strs.Intern(p.Graph.Strs.Bytes(u.File))
			o.Units = append(o.Units, u)
		}
	}
	return o, nil
}

// Union is Merge of objects that are used up: the result takes over their memory. Objects that
// are based on one graph cost nearly nothing. names stand for them in errors.
func Union(names []string, objs []*Object) (*Object, error) {
	var m agreement
	for i, o := range objs {
		if err := m.agree(names[i], o.claims()); err != nil {
			return nil, err
		}
	}
	o, err := Join(objs)
	if err != nil {
		return nil, err
	}
	o.Target, o.Features = m.target, m.agreed()
	return o, nil
}

// Merger is Merge one object at a time, so that each can be forgotten when it has been added.
type Merger struct {
	agreement
	set *unitSet
}

// agreement is what the objects that are merged have to agree in.
type agreement struct {
	target Target
	feats  features.Set
	linked features.Set // of objects that have linked units only
	// names of the objects that settled these; empty while none did
	targetOf, rawOf, featsOf string
}

// claims are what an object says of itself.
type claims struct {
	target     Target
	features   features.Set
	empty      bool // it has no units
	candidates bool // it has a unit that was made with the features
}

func (o *Object) claims() claims {
	return claims{o.Target, o.Features, len(o.Units) == 0, o.hasCandidates()}
}

// NewMerger returns a Merger that holds nothing yet.
func NewMerger() *Merger { return &Merger{set: newUnitSet(types.New())} }

// Add adds o. name stands for it in errors. After an error the Merger must not be used.
func (m *Merger) Add(name string, o *Object) error {
	_, err := m.Place(name, o)
	return err
}

// Place is Add, and returns for each unit of o the index of the union's unit that it went into.
func (m *Merger) Place(name string, o *Object) ([]int, error) {
	if err := m.agree(name, o.claims()); err != nil {
		return nil, err
	}
	return m.place(name, o)
}

// place is Place without a look at what o claims.
func (m *Merger) place(name string, o *Object) ([]int, error) {
	var ids []types.ID // nil: those of o
	var err error
	if g := m.set.g; len(g.Nodes) == 1 && len(m.set.units) == 0 {
		m.set.g = o.Graph.Clone()
	} else if ids, err = g.Import(o.Graph); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	at := make([]int, len(o.Units))
	for i, u := range o.Units {
		if ids != nil { // else lists of items are shared
			items := make([]types.ID, len(u.Items))
			for j, id := range u.Items {
				items[j] = ids[id]
			}
			u.File, u.Items = m.set.g.Strs.Intern(o.Graph.Strs.Bytes(u.File)), items
		}
		if at[i], err = m.set.add(u); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return at, nil
}

// Object returns the union. The Merger must not be used afterwards.
func (m *Merger) Object() *Object {
	return &Object{Target: m.target, Features: m.agreed(), Graph: m.set.g, Units: m.set.units}
}

// agreed are the features of the union.
func (m *agreement) agreed() features.Set {
	if m.featsOf == "" {
		return m.linked
	}
	return m.feats
}

// agree checks an object's target and features against what was merged before, and joins them.
func (m *agreement) agree(name string, o claims) error {
	t := o.target
	if t.Order == nil {
		t.Order = binary.LittleEndian
	}
	if other := cmp.Or(m.targetOf, m.rawOf); other == "" {
		m.target = t
	} else if m.target.Order != t.Order {
		return fmt.Errorf("cannot merge objects of different byte order: %s is %v, %s is %v",
			other, m.target.Order, name, t.Order)
	}
	switch {
	case t.Machine == 0:
		if m.targetOf == "" {
			m.rawOf = cmp.Or(m.rawOf, name)
			m.target.AddrSize = max(m.target.AddrSize, t.AddrSize)
		}
	case m.targetOf == "":
		m.target, m.targetOf = t, name
	case m.target != t:
		return fmt.Errorf("cannot merge objects of different targets: %s is for %v, %s for %v",
			m.targetOf, m.target, name, t)
	}
	if !o.candidates {
		m.linked |= o.linkedFeatures()
		return nil
	}
	if m.featsOf == "" {
		m.feats, m.featsOf = o.features, name
	} else if m.feats != o.features {
		return fmt.Errorf("cannot merge objects made with different features: %s with %v, "+
			"%s with %v; build both with the same --features",
			m.featsOf, m.feats, name, o.features)
	}
	return nil
}

// hasCandidates reports whether o has a unit that was made with o.Features.
func (o *Object) hasCandidates() bool {
	return slices.ContainsFunc(o.Units, func(u Unit) bool { return !u.FromBTF })
}

// linkedFeatures are the features that mean something where there are linked units only.
func (o claims) linkedFeatures() features.Set {
	if o.empty {
		return 0
	}
	return o.features & features.Layout
}
