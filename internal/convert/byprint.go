package convert

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// byPrint maps fingerprints of entries to values. All threads share it. Because get takes no lock,
// it may miss a value that another thread has just put. The caller's own put then has no effect.
type byPrint[T any] struct {
	mu    sync.Mutex // for put
	used  int
	_     apart
	slots atomic.Pointer[[]printed[T]] // the length is a power of two; a filled slot never changes
	_     apart
}

type printed[T any] struct {
	a   atomic.Uint64 // the fingerprint's A, set last; 0 if the slot is free
	b   uint64
	val T
}

// init makes room for about n values.
func (t *byPrint[T]) init(n int) {
	slots := pages.Make[printed[T]](1 << bits.Len(uint(n)))
	t.slots.Store(&slots)
}

// get returns the value of fp, or nil if there is none. The caller must not change the value.
func (t *byPrint[T]) get(fp dwarf.Fingerprint) *T {
	if s, has := slotOf(*t.slots.Load(), fp); has {
		return &s.val
	}
	return nil
}

// fetch loads the slot of fp into the processor's cache.
func (t *byPrint[T]) fetch(fp dwarf.Fingerprint) {
	slots := *t.slots.Load()
	slots[fp.A&uint64(len(slots)-1)].a.Load()
}

// slotOf returns the slot that holds fp, or the free slot for it. It reads each slot only once,
// because another thread may fill a free slot at any time.
func slotOf[T any](slots []printed[T], fp dwarf.Fingerprint) (s *printed[T], has bool) {
	for i := fp.A; ; i++ {
		s := &slots[i&uint64(len(slots)-1)]
		switch a := s.a.Load(); {
		case a == 0:
			return s, false
		case a == fp.A && s.b == fp.B:
			return s, true
		}
	}
}

// put sets the value of fp, unless fp already has a value.
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
		larger := pages.Make[printed[T]](2 * len(slots))
		for i := range slots {
			if s := &slots[i]; s.a.Load() != 0 {
				fp := dwarf.Fingerprint{A: s.a.Load(), B: s.b}
				free, _ := slotOf(larger, fp)
				free.fill(fp, s.val)
			}
		}
		slots = larger
		t.slots.Store(&slots)
	}
	free, _ := slotOf(slots, fp)
	free.fill(fp, val)
}

func (s *printed[T]) fill(fp dwarf.Fingerprint, val T) {
	s.b, s.val = fp.B, val
	s.a.Store(fp.A)
}
