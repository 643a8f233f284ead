package convert

import (
	"cmp"
	"sync"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Shared holds the results that conversions of several files share, so that the types of common
// headers are read once. It is for relocatable files: their fingerprints cover the content of
// strings, so equal fingerprints mean the same in all such files. A fingerprint that depends on the
// file contains the file's number (see dwarf.Prints). Several conversions may run at the same time.
// The zero value is ready to use.
type Shared struct {
	// If Joined is set, the objects use the shared graph instead of their own graphs. Such objects may
	// be used only after all conversions have ended. object.Union merges them.
	Joined bool
	// Size is the approximate size of the units of all files in bytes, 0 if unknown.
	Size int
	// Shapers are for package compilerbtf. It uses them only if Joined is set.
	Shapers object.Shapers

	mu    sync.Mutex
	store *store // nil: none yet
	key   sharedKey
	files uint64       // number of files so far
	idle  []*converter // converters for the store that no conversion uses at the moment
}

// sharedKey is equal for files that share a store.
type sharedKey struct {
	target   object.Target
	features features.Set
}

// maxShared bounds memory: once a store has that many nodes, the next file gets a new store.
const maxShared = 1 << 18

// sharedSize is used in place of Shared.Size if that is 0.
const sharedSize = 64 << 20

// converter returns a converter for a file.
func (s *Shared) converter(in input) *converter {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sharedKey{targetOf(in.d.File), in.opt.Features}
	if s.store == nil || s.key != key || s.store.full(maxShared) {
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
	c.restart(in, s.files)
	return c
}

func (s *store) full(limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.g.Nodes) >= limit
}

// done takes back a converter after a successful conversion.
func (s *Shared) done(c *converter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.store == s.store {
		s.idle = append(s.idle, c)
	}
}

// object returns an object with these units of the shared graph. Unless Joined is set, the object
// gets its own graph, and the sites get the nodes of that graph.
func (s *Shared) object(c *converter, units []object.Unit, sites *inlines.Sites) *object.Object {
	if !s.Joined {
		return c.part(units, sites)
	}
	o := *c.store.obj
	o.Units = units
	return &o
}

// part returns an object with these units. Its own graph has copies of the nodes that they, and
// the sites, use.
func (c *converter) part(units []object.Unit, sites *inlines.Sites) *object.Object {
	var lists [][]types.ID
	for i := range units {
		lists = append(lists, units[i].Items)
	}
	if sites != nil {
		for i := range sites.Units {
			lists = append(lists, sites.Units[i].Functions)
		}
	}
	c.store.mu.Lock()
	g := c.store.g.Snapshot()
	c.store.mu.Unlock()
	part := c.scratch.parter.Part(g, func(yield func(types.ID) bool) {
		for _, list := range lists {
			for _, id := range list {
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
	}
	for _, list := range lists {
		for i, id := range list {
			list[i] = c.scratch.parter.ID(id)
		}
	}
	return &o
}
