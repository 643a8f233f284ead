package object

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Merge returns the union of objects: their shapes and their units. Equal units become one unit,
// whose count is the sum of their counts. Merge doesn't change the objects, but the union may share
// lists of items with them. It is an error if targets or features differ; the error names two
// objects by position. Raw BTF (Target.Machine 0) may be merged with any target of the same byte
// order, and units from BTF may be merged with any features.
// Rule: merge of objects. Source: libbpf btf__add_btf, btf__dedup.
func Merge(objs ...*Object) (*Object, error) {
	m := NewMerger()
	for i, o := range objs {
		if err := m.Add(fmt.Sprintf("object %d", i+1), o); err != nil {
			return nil, err
		}
	}
	return m.Object(), nil
}

// Join returns the union of objects that one conversion made from parts of one file, for example in
// several threads. The objects may share graphs. The result takes over their memory. Equal units
// stay separate, which doesn't change the meaning.
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

// Union is like Merge, but takes over the memory of the objects, which must not be used afterwards.
// If the objects share a graph, Union costs nearly nothing. Errors use the given names.
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

// Merger merges one object at a time, so that an object can be freed once it has been added.
type Merger struct {
	agreement
	set *unitSet
}

// agreement is the target and the features that merged objects must have in common.
type agreement struct {
	target Target
	feats  features.Set
	linked features.Set // features of objects that have only units from BTF
	// the names of the objects that determined target and feats, and of the first object from raw
	// BTF, which determines target as long as all objects are from raw BTF; else empty
	targetOf, rawOf, featsOf string
}

// claims are the properties of an object that an agreement checks.
type claims struct {
	target     Target
	features   features.Set
	empty      bool // the object has no units
	candidates bool // a unit was made with the features
}

func (o *Object) claims() claims {
	return claims{o.Target, o.Features, len(o.Units) == 0, o.hasCandidates()}
}

// NewMerger returns an empty Merger.
func NewMerger() *Merger { return &Merger{set: newUnitSet(types.New())} }

// Add adds o. Errors call o by this name. After an error, the Merger must not be used.
func (m *Merger) Add(name string, o *Object) error {
	_, err := m.Place(name, o)
	return err
}

// Place adds o as Add does. It returns, for each unit of o, the index of that unit in the union.
func (m *Merger) Place(name string, o *Object) ([]int, error) {
	if err := m.agree(name, o.claims()); err != nil {
		return nil, err
	}
	return m.place(name, o)
}

// place is Place, without the check that the target and the features of o agree with the union's.
func (m *Merger) place(name string, o *Object) ([]int, error) {
	var ids []types.ID // nil: nodes have the same ids as in o
	var err error
	if g := m.set.g; len(g.Nodes) == 1 && len(m.set.units) == 0 {
		m.set.g = o.Graph.Clone()
	} else if ids, err = g.Import(o.Graph); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	at := make([]int, len(o.Units))
	for i, u := range o.Units {
		if ids != nil { // otherwise lists of items are shared
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

func (m *agreement) agreed() features.Set {
	if m.featsOf == "" {
		return m.linked
	}
	return m.feats
}

// agree checks that the target and features of an object agree with those of the objects before it.
func (m *agreement) agree(name string, o claims) error {
	t := o.target
	if t.Order == nil {
		t.Order = binary.LittleEndian
	}
	if other := cmp.Or(m.targetOf, m.rawOf); other == "" {
		m.target = t
	} else if m.target.Order != t.Order {
		return fmt.Errorf("cannot merge objects with different byte orders: %s is %v, but %s is %v",
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
		return fmt.Errorf("cannot merge objects for different targets: %s is for %v, but %s is for %v",
			m.targetOf, m.target, name, t)
	}
	if !o.candidates {
		m.linked |= o.linkedFeatures()
		return nil
	}
	if m.featsOf == "" {
		m.feats, m.featsOf = o.features, name
	} else if m.feats != o.features {
		return fmt.Errorf("cannot merge objects made with different features: %s was made with %v, "+
			"but %s with %v; build both with the same --features",
			m.featsOf, m.feats, name, o.features)
	}
	return nil
}

// hasCandidates reports whether o has a unit that was made with o.Features.
func (o *Object) hasCandidates() bool {
	return slices.ContainsFunc(o.Units, func(u Unit) bool { return !u.FromBTF })
}

// linkedFeatures returns the features that matter if all units are from BTF.
func (o claims) linkedFeatures() features.Set {
	if o.empty {
		return 0
	}
	return o.features & features.Layout
}

// MergeFiles reads files as ReadFile does, and merges them as Merge does, on up to jobs threads. If
// several files have errors, it returns the error of the first one. The function progress is called
// on any thread, with the numbers of finished files and of all files.
func MergeFiles(files []string, base *btf.Blob, jobs int, progress func(done, all int)) (*Object,
	error) {
	says, errs := make([]claims, len(files)), make([]error, len(files))
	mergers := make([]*Merger, max(1, min(jobs, len(files))))
	var next, done atomic.Int64
	var wg parallel.Group
	for i := range mergers {
		m := NewMerger()
		mergers[i] = m
		wg.Go(func() {
			a := absorber{set: m.set, jobs: jobs / len(mergers)}
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				if says[i], errs[i] = a.addFile(m, files[i], base); errs[i] != nil {
					next.Store(int64(len(files))) // stop; all files before this one are already being read
				}
				progress(int(done.Add(1)), len(files))
			}
		})
	}
	wg.Wait()
	all := mergers[0]
	for i, path := range files {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if err := all.agree(path, says[i]); err != nil {
			return nil, err
		}
	}
	if err := join(mergers, jobs); err != nil {
		return nil, err
	}
	return all.Object(), nil
}

// join merges everything into the first of the mergers, in rounds: each round halves their number.
func join(mergers []*Merger, jobs int) error {
	for len(mergers) > 1 {
		half := (len(mergers) + 1) / 2
		errs := make([]error, half)
		parallel.Do(jobs, len(mergers)-half, func(i int) {
			from := mergers[half+i].set
			_, errs[i] = mergers[i].place("merged files", &Object{Graph: from.g, Units: from.units})
		})
		if err := cmp.Or(errs...); err != nil {
			return err
		}
		mergers = mergers[:half]
	}
	return nil
}

func (a *absorber) addFile(m *Merger, path string, base *btf.Blob) (claims, error) {
	if says, ok, err := a.absorb(path); ok || err != nil {
		return says, err
	}
	o, err := ReadFile(path, base)
	if err != nil {
		return claims{}, err
	}
	_, err = m.place(path, o)
	return o.claims(), err
}
