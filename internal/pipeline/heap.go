package pipeline

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// smallInput is the size, in bytes, below which garbage collection would take too much of the time.
const smallInput = 8 << 20

// RelaxHeap lets the heap grow to some 30 MB before garbage is collected, if the inputs are small
// and the user hasn't set GOGC.
func RelaxHeap(paths []string) {
	size := int64(0)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return
		}
		size += info.Size()
	}
	if size < smallInput && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}

// The memory of a process that converts one linked file should stay below 300 MB plus a twentieth
// of the file's debugging information. Of this, otherMemory is for the program and for the pages of
// the mapped file, which the garbage collector doesn't count.
const (
	mostMemory  = 300e6
	otherMemory = 80e6
	infoShare   = 20
)

// limitHeap makes the garbage collector work harder if the process would otherwise use more memory
// than it should for a conversion of f, unless the user has set GOGC or GOMEMLIMIT.
// Rule: memory: how much a conversion should take.
func limitHeap(f *elf.File) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	size := uint64(0)
	for _, name := range []string{".debug_info", ".debug_types"} {
		for _, s := range f.SectionsNamed(name) {
			size += s.Size
		}
	}
	heapLimit.least.Store(mostMemory - otherMemory + int64(size/infoShare))
	adjustLimit()
	heapLimit.watch.Do(func() { watchHeap(new(collected)) })
}

// heapLimit is the soft limit for the memory that the garbage collector counts.
var heapLimit struct {
	least atomic.Int64 // bytes
	watch sync.Once
}

// adjustLimit sets the limit. It exceeds the least limit if that leaves little room: otherwise,
// garbage would be collected all the time.
func adjustLimit() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := int64(0)
	if sample[0].Value.Kind() == metrics.KindUint64 {
		live = int64(sample[0].Value.Uint64())
	}
	debug.SetMemoryLimit(max(heapLimit.least.Load(), live+live/4))
}

// collected is an object to which nothing refers, so that its finalizer runs after each garbage
// collection. Because it has a pointer, it doesn't share a block of memory with other objects.
type collected struct{ _ *byte }

func watchHeap(c *collected) {
	runtime.SetFinalizer(c, func(c *collected) {
		adjustLimit()
		watchHeap(c)
	})
}
