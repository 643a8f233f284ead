package convert

import (
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// store is what the threads of a conversion share. Most types of a unit are known from other units,
// and are found by their fingerprint, without a lock. A new type is described and hashed by one
// thread, then added to the graph under a lock. So the numbers of nodes depend on the schedule, but
// their contents don't.
type store struct {
	mu      sync.Mutex // for the graph
	obj     *object.Object
	g       *types.Graph // of obj
	size    int          // of the units, in bytes, about
	shared  bool         // by conversions of several files
	byPrint struct {
		items  byPrint[item]       // what definitions mean
		hashes byPrint[types.Hash] // what references mean
	}
}

// roomFor is how many nodes about size bytes of units have. In a Linux kernel an object file has
// one in 60 bytes, which others have too; the whole kernel has one in 1,600.
func roomFor(size int) int { return min(size/60, 1<<12) + size/1500 }

// lockTries is how often a thread tries to lock the graph before it sleeps: for some 50
// microseconds.
const lockTries = 1 << 14

// newObject returns one with room for so many nodes.
func newObject(d *dwarf.Data, opt *Options, nodes int) *object.Object {
	return &object.Object{Target: targetOf(d.File), Features: opt.Features,
		Graph: types.NewSized(nodes)}
}

func targetOf(f *elf.File) object.Target {
	return object.Target{AddrSize: f.AddrSize, Order: f.Order, Machine: uint16(f.Machine)}
}

// newStore returns one for about size bytes of units.
func newStore(d *dwarf.Data, opt *Options, size int) *store {
	s := &store{obj: newObject(d, opt, roomFor(size)), size: size}
	s.g = s.obj.Graph
	s.byPrint.items.init()
	s.byPrint.hashes.init()
	return s
}

// lock locks the graph. It is held for some microseconds, and to put a goroutine to sleep and wake
// it takes many times as long.
func (s *store) lock() {
	for range lockTries {
		if s.mu.TryLock() {
			return
		}
	}
	s.mu.Lock()
}
