package convert

import (
	"cmp"
	"sync"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Shared is what conversions of several files share, so that types of common headers are read once.
// It is for relocatable files, whose fingerprints have strings by content; so a fingerprint means
// the same in all of them. If a fingerprint depends on the file, it has the file's number in it
// (dwarf.Prints). Several conversions may run at the same time. The zero value is ready.
type Shared struct {
	// Joined bases the objects on the shared graph, in place of their own graphs. They may be used
	// when all conversions have ended; object.Union merges them.
	Joined bool
	// Size is about how many bytes of units there will be in all, 0 if that isn't known.
	Size int

	mu    sync.Mutex
	store *store // nil: none yet
	key   sharedKey
	files uint64       // so far
	most  int          // in place of maxShared, for tests; 0: maxShared
	idle  []*converter // of the store
}

// sharedKey is what files have in common that share a store.
type sharedKey struct {
	target   object.Target
	features features.Set
}

// maxShared is how many nodes a store may have before another one is begun, so that memory is
// bounded.
const maxShared = 1 << 18

// sharedSize is the size of the units, in bytes, for which a shared store has room at first, if it
// isn't known.
const sharedSize = 64 << 20

// converter returns one for a file with units of about size bytes in all.
func (s *Shared) converter(in input, size int) *converter {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sharedKey{targetOf(in.d.File), in.opt.Features}
	if s.store == nil || s.key != key || s.store.full(cmp.Or(s.most, maxShared)) {
		s.store, s.key, s.idle = newStore(in.d, in.opt, cmp.Or(s.Size, sharedSize)), key, nil
		s.store.shared = true
	}
	var c *converter
	if n := len(s.idle); n > 0 {
		c, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		c = newConverter(in, s.store)
	}
	s.files++
	c.restart(in, s.files, size)
	return c
}

// full reports whether a store has as many nodes as it may have.
func (s *store) full(most int) bool {
	s.lock()
	defer s.mu.Unlock()
	return len(s.g.Nodes) >= most
}

// done takes back a converter that has had no error.
func (s *Shared) done(c *converter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.store == s.store {
		s.idle = append(s.idle, c)
	}
}

// object returns the object of units of the shared graph: on that graph, or on its own graph.
func (s *Shared) object(c *converter, units []object.Unit) *object.Object {
	if !s.Joined {
		return c.part(units)
	}
	o := *c.store.obj
	o.Units = units
	return &o
}

// part makes its own graph for the units, which are of the shared one.
func (c *converter) part(units []object.Unit) *object.Object {
	c.store.lock()
	g := c.store.g.Snapshot()
	c.store.mu.Unlock()
	part := c.scratch.parter.Part(g, func(yield func(types.ID) bool) {
		for i := range units {
			for _, id := range units[i].Items {
				if !yield(id) {
					return
				}
			}
		}
	})
	o := *c.store.obj
	o.Graph, o.Units = part, units
	for i := range units {
		u := &units[i]
		u.File = part.Strs.Intern(g.Strs.Bytes(u.File))
		for j, id := range u.Items {
			u.Items[j] = c.scratch.parter.ID(id)
		}
	}
	return &o
}
