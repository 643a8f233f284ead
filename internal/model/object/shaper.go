package object

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Shaper adds types of blobs, and what their shapes contain, to a graph. It is for many blobs that
// have most types in common: they are hashed where they lie, as in an absorber, and only new ones
// become nodes. A blob that defines a tag in several ways, or is damaged, goes the plain way
// (addShapes), which reports what is wrong.
type Shaper struct {
	absorber
	defined map[types.Hash]uint32 // by the stub of a tag: its first definition
	ids     []types.ID            // by type id, of a blob that went the plain way; else nil

	checked types.ID // nodes before this one have valid names, except those that are
	invalid map[types.ID]bool
}

// Graph returns the graph.
func (s *Shaper) Graph() *types.Graph { return s.set.g }

// Shapers are shapers for conversions one after the other, so that each has the types of those
// before it. The objects that they make share graphs: read none before all are made.
type Shapers struct {
	mu   sync.Mutex
	free []*Shaper
}

// Take returns a shaper that nobody else uses. A nil receiver gives a new one.
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

// Invalid returns one of the nodes that is a definition or typedef with a name that the kernel
// refuses, 0 if there is none.
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

// Load takes the next blob, which has no base and must not change until the next Load. It checks
// all references.
func (s *Shaper) Load(b *btf.Blob) (err error) {
	s.blob, s.ids = *b, nil
	s.text = unsafe.Slice(unsafe.StringData(b.Strings), len(b.Strings))
	s.sizes = resized(s.sizes, len(b.Types)+1)
	if !s.hashNames() || !s.hashTypes() || s.severalDefinitions() {
		return s.LoadPlainly(b)
	}
	return nil
}

// LoadPlainly is Load by the plain way.
func (s *Shaper) LoadPlainly(b *btf.Blob) (err error) {
	s.ids, err = addShapes(s.set.g, []*btf.Blob{b}, false)
	return err
}

// Node returns the node of a type of the blob: of a definition the definition, of a declaration the
// stub.
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
