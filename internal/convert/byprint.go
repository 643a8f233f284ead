package convert

import (
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// byPrint remembers values by the fingerprints of entries, for all threads. Looking one up takes no
// lock; one that another thread has just put may be missed, and is then put again.
type byPrint[T any] struct {
	mu    sync.Mutex // for put
	used  int
	slots atomic.Pointer[[]printed[T]] // a power of two of them; filled, never changed
}

type printed[T any] struct {
	a   atomic.Uint64 // of the fingerprint; set last. 0: free
	b   uint64
	val T
}

// init makes room for some values.
func (t *byPrint[T]) init() {
	slots := make([]printed[T], 1<<12)
	t.slots.Store(&slots)
}

// get returns the value of fp, nil if it has none. It is not to be changed.
func (t *byPrint[T]) get(fp dwarf.Fingerprint) *T {
	slots := *t.slots.Load()
	for i := fp.A; ; i++ {
		s := &slots[i&uint64(len(slots)-1)]
		switch s.a.Load() {
		case 0:
			return nil
		case fp.A:
			if s.b == fp.B {
				return &s.val
			}
		}
	}
}

// put sets the value of fp, if it has none.
func (t *byPrint[T]) put(fp dwarf.Fingerprint, val T) {
	if fp.A == 0 {
		return // it would look like a free slot
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.get(fp) != nil {
		return
	}
	slots := *t.slots.Load()
	if t.used++; t.used*4 > len(slots)*3 {
		larger := make([]printed[T], 2*len(slots))
		for i := range slots {
			if s := &slots[i]; s.a.Load() != 0 {
				place(larger, dwarf.Fingerprint{A: s.a.Load(), B: s.b}, s.val)
			}
		}
		slots = larger
		t.slots.Store(&slots)
	}
	place(slots, fp, val)
}

// place fills the first free slot for fp.
func place[T any](slots []printed[T], fp dwarf.Fingerprint, val T) {
	for i := fp.A; ; i++ {
		if s := &slots[i&uint64(len(slots)-1)]; s.a.Load() == 0 {
			s.b, s.val = fp.B, val
			s.a.Store(fp.A)
			return
		}
	}
}
