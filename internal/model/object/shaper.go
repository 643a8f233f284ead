package object

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Shaper adds types of blobs, and the types in their shapes, to a graph. It is for many blobs that
// have most types in common: types are hashed in place, as in an absorber, and only new types
// become nodes. A blob that is damaged, or defines a tag in several ways, is read the plain way
// (addShapes), which reports what is wrong.
type Shaper struct {
	absorber
	defined map[types.Hash]uint32 // by the stub of a tag: its first definition
	ids     []types.ID            // by type id, if the blob was read the plain way; otherwise nil

	checked types.ID // nodes before this one, except those in invalid, have valid names
	invalid map[types.ID]bool
}

// Graph returns the graph.
func (s *Shaper) Graph() *types.Graph { return s.set.g }

// Shapers keeps shapers for later conversions, so that each conversion finds the types of earlier
// ones. The objects from these conversions share graphs: don't read any object before all are made.
type Shapers struct {
	mu   sync.Mutex
	free []*Shaper
}

// Take returns a shaper that nobody else uses. If p is nil, the shaper is new.
func (p *Shapers) Take() *Shaper {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if last := len(p.free) - 1; last >= 0 {
			s := p.free[last]
			p.free = p.free[:last]
			return s
		}
	}
	return &Shaper{absorber: absorber{set: &unitSet{g: types.New()}},
		defined: map[types.Hash]uint32{}, invalid: map[types.ID]bool{}}
}

// Return takes back a shaper.
func (p *Shapers) Return(s *Shaper) {
	if p != nil {
		p.mu.Lock()
		p.free = append(p.free, s)
		p.mu.Unlock()
	}
}

// Invalid returns the first definition or typedef in nodes that has an invalid name; 0 if none has.
func (s *Shaper) Invalid(nodes []types.ID) types.ID {
	g := s.set.g
	valid := func(s types.Str) bool { return s == 0 || btf.ValidIdentifier(g.Strs.Bytes(s)) }
	for ; int(s.checked) < len(g.Nodes); s.checked++ {
		n := g.Node(s.checked)
		if !n.IsDefinition() && n.Kind != types.KindTypedef {
			continue
		}
		if !valid(n.Name) || slices.ContainsFunc(g.ElemsOf(n),
			func(e types.Elem) bool { return !valid(e.Name) }) {
			s.invalid[s.checked] = true
		}
	}
	if len(s.invalid) > 0 {
		for _, id := range nodes {
			if s.invalid[id] {
				return id
			}
		}
	}
	return 0
}

// Load takes the next blob, and checks all its references. The blob must have no base, and must not
// change until the next Load.
func (s *Shaper) Load(b *btf.Blob) (err error) {
	s.blob, s.ids = *b, nil
	s.text = unsafe.Slice(unsafe.StringData(b.Strings), len(b.Strings))
	s.sizes = resized(s.sizes, len(b.Types)+1)
	if !s.hashNames() || !s.hashTypes() || s.severalDefinitions() {
		return s.LoadPlainly(b)
	}
	return nil
}

// LoadPlainly is like Load, but always reads the plain way.
func (s *Shaper) LoadPlainly(b *btf.Blob) (err error) {
	if err := noLocations(b); err != nil {
		return err
	}
	s.ids, err = addShapes(s.set.g, []*btf.Blob{b}, false)
	return err
}

// Node returns the node of a type of the blob; for a declaration, that is the stub.
func (s *Shaper) Node(id uint32) types.ID {
	if s.ids != nil {
		return s.ids[id]
	}
	if id == 0 {
		return 0
	}
	return s.node(id)
}

// severalDefinitions reports whether the blob defines a tag in several ways.
func (s *Shaper) severalDefinitions() bool {
	clear(s.defined)
	for id := 1; id < len(s.shapes); id++ {
		t := &s.shapes[id]
		if t.tag == 0 || t.fwd {
			continue
		}
		first, ok := s.defined[t.stub]
		if ok && s.shapes[first].hash != t.hash {
			return true
		}
		s.defined[t.stub] = uint32(id)
	}
	return false
}
