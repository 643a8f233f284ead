package object

import (
	"unsafe"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Shaper adds types of blobs to a graph, and those that their shapes contain. It is for many blobs
// that have most of their types in common: they are hashed where they lie, as an absorber does with
// files, and only what is new is made into nodes. A blob that defines a tag in several ways, or
// that is damaged, goes the plain way (addShapes), which tells what is wrong.
type Shaper struct {
	absorber
	defined map[types.Hash]uint32 // by the stub of a tag: its first definition
	ids     []types.ID            // by type id, of a blob that went the plain way; else nil
}

// NewShaper returns a shaper for a graph.
func NewShaper(g *types.Graph) *Shaper {
	return &Shaper{absorber: absorber{set: &unitSet{g: g}}, defined: map[types.Hash]uint32{}}
}

// Load takes the next blob, which has no base and must not change as long as it is the present one.
// All of its references are checked.
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

// Node returns the node of a type of the blob: for a definition of a tag the definition, for a
// declaration the stub.
func (s *Shaper) Node(id uint32) types.ID {
	if s.ids != nil {
		return s.ids[id]
	}
	if id == 0 {
		return 0
	}
	return s.node(id)
}

// severalDefinitions tells whether the blob defines a tag in several ways.
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
