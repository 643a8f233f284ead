package object

import (
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// hashShapes hashes all types, and checks that they are in canonical order.
func (a *absorber) hashShapes() bool {
	if !a.hashTypes() {
		return false
	}
	last := uint32(0) // the ordinal of the previous type's name
	for i := range a.blob.Types {
		name := a.ordinal[a.blob.Types[i].NameOff]
		if name < last || name == last && i > 0 && !a.shapes[i].precedes(&a.shapes[i+1]) {
			return false
		}
		last = name
	}
	return true
}

// The states of a shape. Other numbers are those of hashers.
const (
	free = iota
	done
	firstHasher
)

// hashTypes hashes all types, on several threads. A thread that needs a type that another thread is
// hashing doesn't wait for it, because the other thread could be waiting too. Instead, the thread
// leaves the types that it was hashing for later. These are hashed when all threads are done.
//
// A type that can't be hashed ends all hashing at once. If other types that refer to it were still
// hashed, the time would be exponential in the depth of the types.
func (a *absorber) hashTypes() bool {
	a.shapes = resized(a.shapes, len(a.blob.Types)+1)
	a.crossed = resized(a.crossed, len(a.shapes))
	var refused atomic.Bool
	const some = 1 << 11 // types
	parts := make([]hasher, (len(a.blob.Types)+some-1)/some)
	each := func(do func(h *hasher, id uint32) bool) bool {
		parallel.Do(a.jobs, len(parts), func(part int) {
			h := &parts[part]
			h.absorber, h.number, h.shared = a, uint32(firstHasher+part), a.jobs > 1
			for i := part * some; i < min((part+1)*some, len(a.blob.Types)); i++ {
				if !do(h, uint32(i+1)) {
					refused.Store(true)
					return
				}
			}
		})
		return !refused.Load()
	}
	if !each((*hasher).begin) || !each((*hasher).try) {
		return false
	}
	last := hasher{absorber: a, number: uint32(firstHasher + len(parts))}
	for i := range parts {
		for _, id := range parts[i].later {
			if a.shapes[id].state != done && !last.hash(id, 0) {
				return false
			}
		}
	}
	return true
}

// hasher hashes some types of a file.
type hasher struct {
	*absorber
	number uint32
	shared bool // other threads hash other types
	met    bool // a type that another thread is hashing
	later  []uint32
	wasted uint32 // how many types and elements were left for later after they had been visited
}

// maxWasted limits the work on types that are left for later: two threads that hash the types of
// one cycle could meet each other again and again.
const maxWasted = 1 << 16

// begin sets what is known about a type without its references.
func (h *hasher) begin(id uint32) bool {
	t, s := &h.blob.Types[id-1], &h.shapes[id]
	name, ok := h.name(t.NameOff)
	if !ok || t.Kind.IsLocation() {
		return false
	}
	s.kind, s.tag = t.Kind, declared(t)
	if s.fwd = s.tag != 0; !s.fwd && t.NameOff != 0 {
		s.tag = types.TagOf(types.Kind(t.Kind))
	}
	if s.tag != 0 {
		s.stub = types.HashStub(s.tag, name)
	}
	return true
}

// try hashes a type, now or later.
func (h *hasher) try(id uint32) bool {
	if h.isDone(&h.shapes[id]) || h.wasted < maxWasted && h.hash(id, 0) {
		return true
	}
	if !h.met && h.wasted < maxWasted {
		return false
	}
	h.met = false
	h.later = append(h.later, id)
	return true
}

func (h *hasher) isDone(s *shape) bool {
	if h.shared {
		return atomic.LoadUint32(&s.state) == done
	}
	return s.state == done
}

// take makes h the hasher of a type. It reports whether the type was free.
func (h *hasher) take(s *shape) bool {
	if h.shared {
		if atomic.CompareAndSwapUint32(&s.state, free, h.number) {
			return true
		}
		h.met = h.met || atomic.LoadUint32(&s.state) != h.number
		return false
	}
	if s.state != free {
		return false
	}
	s.state = h.number
	return true
}

// leave ends the hashing of a type.
func (h *hasher) leave(s *shape, state uint32) {
	if h.shared {
		atomic.StoreUint32(&s.state, state)
	} else {
		s.state = state
	}
}

// hash hashes the type with this id as types.Graph does, after the types that its shape contains.
// It returns false if something is wrong, or if h has met another hasher.
func (h *hasher) hash(id uint32, depth int) bool {
	t, s := &h.blob.Types[id-1], &h.shapes[id]
	if depth > types.MaxDepth+2 || !h.take(s) { // +2: below a declaration tag and its function
		return false
	}
	ok := h.hashTaken(id, t, s, depth)
	if ok {
		h.leave(s, done)
	} else {
		h.wasted += 1 + Elements(t)
		h.leave(s, free)
	}
	return ok
}

func (h *hasher) hashTaken(id uint32, t *btf.Type, s *shape, depth int) bool {
	if s.fwd {
		s.hash, s.depth, s.leads = s.stub, 1, true
		return t.NameOff != 0
	}
	ok, name := true, h.names[h.ordinal[t.NameOff]]
	deepest, fit := uint16(0), kindsFor(t.Kind)
	ref := func(child uint32) (sum types.Hash) {
		var deep uint16
		var good bool
		sum, deep, good = h.refer(t.Kind, fit, child, depth)
		if deepest, ok = max(deepest, deep), ok && good; good {
			if c := &h.shapes[child]; c.crosses(t.Kind) {
				s.leads = true
				if atomic.LoadUint32(&h.crossed[child]) == 0 {
					atomic.StoreUint32(&h.crossed[child], 1)
				}
			} else {
				s.leads = s.leads || c.leads
			}
		}
		return sum
	}
	size, aux, to := Head(&h.blob, t)
	var refers types.Hash
	if t.Kind.HasType() || t.Kind == btf.KindArray {
		refers = ref(to)
	}
	if ok && t.Kind.IsModifier() {
		s.chain = h.shapes[to].chain + 1
		ok = s.chain <= btf.MaxModifiers
	}
	sum := types.Start(types.Kind(t.Kind), size+h.sizes[id], aux, name, refers)
	for i := uint32(0); ok && i < Elements(t); i++ {
		nameOff, child, val := Element(&h.blob, t, i)
		name, found := h.name(nameOff)
		sum.Elem(name, ref(child), val)
		ok = ok && found
	}
	ok = ok && (t.Kind != btf.KindFunc || aux <= types.LinkageExtern)
	s.hash, s.depth = sum.Sum(t.KFlag), deepest+1
	return ok && (deepest < types.MaxDepth || !mayNest(t.Kind))
}

// refer returns the hash that represents child in the content of a type that refers to it, and how
// deep child nests. The parameter from is the kind of the referring type; ok is false if such a
// reference is not allowed, or if child is invalid.
func (h *hasher) refer(from btf.Kind, fit kindSet, child uint32, depth int) (sum types.Hash,
	deep uint16, ok bool) {
	if uint64(child) >= uint64(len(h.shapes)) {
		return sum, 0, false
	}
	c := &h.shapes[child] // empty for void
	switch {
	case !fit.has(c.kind):
		return sum, 0, false
	case c.crosses(from):
		return c.stub, 0, true
	case child != 0 && !h.isDone(c) && !h.hash(child, depth+1):
		return sum, 0, false
	}
	return c.hash, c.depth, true
}
