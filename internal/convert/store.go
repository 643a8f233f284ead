package convert

import (
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// store is what the threads of a conversion share. Most types of a unit are known from other units,
// and are found by their fingerprint, without a lock. If a type is new, the thread describes and
// hashes it, then takes the lock and adds it to the graph. So the ids of nodes depend on the timing
// of the threads, but the contents of nodes don't.
type store struct {
	mu      sync.Mutex // for the graph
	_       apart
	obj     *object.Object
	g       *types.Graph // of obj
	size    int          // approximate size of the units in bytes
	shared  bool         // several conversions share the store
	byPrint struct {
		items  byPrint[item]       // the items of definitions
		hashes byPrint[types.Hash] // the hashes of types to which other types refer
	}
}

// apart is padding between fields that threads often write, such as locks, and fields that other
// threads only read, so that these are not in the same cache line. Its size is two cache lines,
// because processors prefetch lines in pairs.
type apart [128]byte

// roomFor estimates how many nodes about size bytes of units will have. In a Linux kernel, an
// object file has one node per 60 bytes, and the whole kernel one node per 1,600 bytes. Files that
// are much larger than a kernel have fewer nodes than that, so their graphs start small and grow.
func roomFor(size int) int { return min(min(size/60, 1<<12)+size/1500, 1<<18) }

func newObject(d *dwarf.Data, opt *Options, nodes int) *object.Object {
	return &object.Object{Target: targetOf(d.File), Features: opt.Features.Recorded(),
		Graph: types.NewSized(nodes)}
}

func targetOf(f *elf.File) object.Target {
	return object.Target{AddrSize: f.AddrSize, Order: f.Order, Machine: uint16(f.Machine)}
}

// newStore returns a store for about size bytes of units.
func newStore(d *dwarf.Data, opt *Options, size int) *store {
	nodes := roomFor(size)
	s := &store{obj: newObject(d, opt, nodes), size: size}
	s.g = s.obj.Graph
	s.byPrint.items.init(nodes / 8)
	s.byPrint.hashes.init(nodes / 4)
	return s
}
