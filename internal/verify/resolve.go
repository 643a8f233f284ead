package verify

import "github.com/rules-btf/rules_btf/internal/btf"

// maxDepth is how many types the kernel's resolver stacks up (MAX_RESOLVE_DEPTH). Whether a chain
// is too deep depends on the order of ids: types are resolved in that order, and a resolved type
// ends the descent.
const maxDepth = 32

// state is how far the resolution of an own type has come.
type state uint8

const (
	untouched state = iota
	open            // on the stack
	resolved
	broken // has a violation, or needs a type that has one: no longer judged
)

// mode is what ends a descent. A pointer's chain goes on through pointers and modifiers, to find
// pointers that lead to themselves; a struct's or array's through what it contains by value.
type mode uint8

const (
	undecided mode = iota
	throughPointers
	throughContents
)

// resolver is one pass over all types in order of ids, as btf_check_all_types does it.
type resolver struct {
	c       *checker
	b       *btf.Blob
	ptrSize uint32
	state   []state
	target  []uint32 // own modifiers, pointers and variables: what they come to, modifiers skipped
	size    []uint32 // own arrays: size in bytes
	stack   []vertex
	mode    mode
}

// vertex is a type on the stack.
type vertex struct {
	id   uint32
	next uint32 // struct, datasec: the first element not yet judged
}

// step is the outcome of one look at a vertex.
type step uint8

const (
	done    step = iota // resolved
	descend             // another type was pushed and comes first
	failed              // a violation was reported, or a needed type is broken
)

// references checks how types refer to each other.
func (c *checker) references(ptrSize uint32) {
	n := len(c.b.Types)
	r := &resolver{
		c: c, b: c.b, ptrSize: ptrSize,
		state: make([]state, n), target: make([]uint32, n), size: make([]uint32, n),
		stack: make([]vertex, 0, maxDepth),
	}
	for i := range r.state {
		if c.bad[i] {
			r.state[i] = broken
		}
	}
	for i := range c.b.Types {
		id := c.b.StartID + uint32(i)
		k := c.b.Types[i].Kind
		if needsResolve(k) {
			r.resolve(id)
		}
		if k == btf.KindFuncProto && r.state[i] != broken && !r.proto(id) {
			r.state[i] = broken
		}
	}
	r.contents()
}

func needsResolve(k btf.Kind) bool {
	switch k {
	case btf.KindPtr, btf.KindStruct, btf.KindUnion, btf.KindArray, btf.KindVar, btf.KindFunc, btf.KindDeclTag, btf.KindDatasec:
		return true
	}
	return k.IsModifier()
}

// sourceOnly kinds refer to others, but nothing except a DATASEC or a tag refers to them.
func sourceOnly(k btf.Kind) bool {
	return k == btf.KindVar || k == btf.KindDeclTag || k == btf.KindDatasec
}

// sizeless kinds have no size. Void is one.
func sizeless(k btf.Kind) bool {
	switch k {
	case btf.KindVoid, btf.KindFwd, btf.KindFunc, btf.KindFuncProto, btf.KindDeclTag:
		return true
	}
	return false
}

// kind is the kind of an id, void for 0; ok is false if there is no such type.
func (r *resolver) kind(id uint32) (k btf.Kind, ok bool) {
	if id == 0 {
		return btf.KindVoid, true
	}
	t, _ := r.b.ByID(id)
	if t == nil {
		return 0, false
	}
	return t.Kind, true
}

// stateOf is the state of any id: void and the types of bases are resolved, types that do not exist
// are broken.
func (r *resolver) stateOf(id uint32) state {
	switch {
	case id < r.b.StartID:
		return resolved
	case id >= r.b.EndID():
		return broken
	}
	return r.state[id-r.b.StartID]
}

func (r *resolver) report(id uint32, rule, format string, args ...any) step {
	r.c.report(Load, id-r.b.StartID, rule, format, args...)
	return failed
}

// resolve brings an own type and what it needs to resolved or broken.
func (r *resolver) resolve(id uint32) bool {
	switch r.stateOf(id) {
	case resolved:
		return true
	case broken:
		return false
	}
	r.mode, r.stack = undecided, r.stack[:0]
	r.push(id)
	for len(r.stack) > 0 {
		v := &r.stack[len(r.stack)-1]
		if r.stateOf(v.id) == broken || r.look(v) == failed {
			for _, v := range r.stack {
				r.state[v.id-r.b.StartID] = broken
			}
			return false
		}
	}
	return true
}

func (r *resolver) push(id uint32) {
	r.state[id-r.b.StartID] = open
	r.stack = append(r.stack, vertex{id: id})
	if r.mode == undecided {
		switch k, _ := r.kind(id); k {
		case btf.KindPtr:
			r.mode = throughPointers
		case btf.KindStruct, btf.KindUnion, btf.KindArray:
			r.mode = throughContents
		}
	}
}

func (r *resolver) pop(target, size uint32) step {
	v := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	i := v.id - r.b.StartID
	r.state[i], r.target[i], r.size[i] = resolved, target, size
	return done
}

// endsHere says whether the descent of this mode stops at a kind.
func (r *resolver) endsHere(k btf.Kind) bool {
	switch r.mode {
	case throughPointers:
		return !k.IsModifier() && k != btf.KindPtr
	case throughContents:
		return !k.IsModifier() && k != btf.KindArray && !k.IsComposite()
	}
	return !needsResolve(k)
}

// need makes sure that an existing type is resolved as far as the mode wants: done if it is,
// otherwise it is pushed.
func (r *resolver) need(from, id uint32) step {
	k, _ := r.kind(id)
	switch s := r.stateOf(id); {
	case s == broken:
		return failed
	case s == resolved || r.endsHere(k):
		return done
	case s == open:
		return r.report(from, "loop", "it leads back to itself through type [%d]", id)
	case len(r.stack) == maxDepth:
		return r.report(from, "depth", "more than %d types to resolve in a row; the kernel gives up",
			maxDepth)
	}
	r.push(id)
	return descend
}

// look moves the vertex on top of the stack on: kernel/bpf/btf.c, the resolve function of its kind.
func (r *resolver) look(v *vertex) step {
	t := &r.b.Types[v.id-r.b.StartID]
	switch t.Kind {
	case btf.KindArray:
		return r.array(v.id, r.b.ArrayOf(t))
	case btf.KindStruct, btf.KindUnion:
		return r.composite(v, t)
	case btf.KindDatasec:
		return r.datasec(v, t)
	case btf.KindFunc:
		return r.function(v.id, t)
	case btf.KindDeclTag:
		return r.declTag(v.id, t)
	}
	return r.reference(v.id, t)
}

// reference resolves pointers, modifiers and variables.
func (r *resolver) reference(id uint32, t *btf.Type) step {
	next := t.SizeOrType
	k, ok := r.kind(next)
	if !ok {
		return r.report(id, "type-id", "it refers to type id %d, which does not exist", next)
	}
	if sourceOnly(k) {
		return r.report(id, "type-kind", "it refers to [%d], a %v", next, k)
	}
	if s := r.need(id, next); s != done {
		return s
	}
	if t.Kind == btf.KindPtr || t.Kind == btf.KindVar {
		// A modifier resolved for a struct's sake stopped at a pointer; go on from there.
		if k.IsModifier() {
			to := r.skipped(next)
			if tk, ok := r.kind(to); ok && tk == btf.KindPtr {
				if s := r.need(id, to); s != done {
					return s
				}
			}
		}
	}
	if target, _, ok := r.sized(next); ok {
		return r.pop(target, 0)
	}
	if t.Kind == btf.KindVar {
		return r.report(id, "var-type", "its type [%d] has no size", next)
	}
	target := r.skipped(next)
	switch tk, _ := r.kind(target); tk {
	case btf.KindVoid, btf.KindFwd, btf.KindFuncProto:
		return r.pop(target, 0)
	default:
		return r.report(id, "type-kind", "it comes to [%d], a %v", target, tk)
	}
}

// skipped is the first type from id on that is no modifier; a modifier if a base loops.
func (r *resolver) skipped(id uint32) uint32 {
	for range 4 * maxDepth {
		k, ok := r.kind(id)
		if !ok || !k.IsModifier() {
			break
		}
		if id >= r.b.StartID && r.stateOf(id) == resolved {
			return r.target[id-r.b.StartID]
		}
		t, _ := r.b.ByID(id)
		id = t.SizeOrType
	}
	return id
}

// sized is the type that gives id its size, modifiers skipped, and the size in bytes; ok is false
// if it has none.
func (r *resolver) sized(id uint32) (at, size uint32, ok bool) {
	if k, _ := r.kind(id); k.IsModifier() {
		id = r.skipped(id)
	}
	t, _ := r.b.ByID(id)
	if t == nil || sizeless(t.Kind) {
		return 0, 0, false
	}
	switch {
	case t.Kind.HasSize():
		return id, t.SizeOrType, true
	case t.Kind == btf.KindPtr:
		return id, r.ptrSize, true
	case t.Kind == btf.KindArray:
		return id, r.arraySize(id), true
	}
	return 0, 0, false
}

// arraySize is the size of an array in bytes, even if it is not resolved yet (the kernel then takes
// 0); 0 if the size cannot be known.
func (r *resolver) arraySize(id uint32) uint32 {
	n := uint64(1)
	for range maxDepth {
		id = r.skipped(id)
		if id >= r.b.StartID && r.stateOf(id) == resolved &&
			r.b.Types[id-r.b.StartID].Kind == btf.KindArray {
			n *= uint64(r.size[id-r.b.StartID])
			return clamp(n)
		}
		t, o := r.b.ByID(id)
		if t == nil {
			return 0
		}
		if t.Kind != btf.KindArray {
			_, size, _ := r.sized(id)
			return clamp(n * uint64(size))
		}
		a := o.ArrayOf(t)
		if n = n * uint64(a.Nelems); n > 1<<32-1 {
			return 0
		}
		id = a.Elem
	}
	return 0
}

func clamp(n uint64) uint32 {
	if n > 1<<32-1 {
		return 0
	}
	return uint32(n)
}

func (r *resolver) array(id uint32, a btf.Array) step {
	for _, x := range [2]struct {
		id   uint32
		what string
	}{{a.Index, "index"}, {a.Elem, "element"}} {
		k, ok := r.kind(x.id)
		if !ok {
			return r.report(id, "type-id", "its %s type id %d does not exist", x.what, x.id)
		}
		if sizeless(k) || sourceOnly(k) {
			return r.report(id, "array-"+x.what, "its %s type [%d] is a %v", x.what, x.id, k)
		}
		if s := r.need(id, x.id); s != done {
			return s
		}
		at, size, ok := r.sized(x.id)
		if !ok {
			return r.report(id, "array-"+x.what, "its %s type [%d] has no size", x.what, x.id)
		}
		t, _ := r.b.ByID(at)
		if x.what == "index" {
			if t.Kind != btf.KindInt || !regularInt(t) {
				return r.report(id, "array-index", "its index type [%d] is no plain INT", x.id)
			}
			continue
		}
		if t.Kind == btf.KindInt && !regularInt(t) {
			return r.report(id, "array-element",
				"its element type [%d] is an INT of %d bits at offset %d, not a plain one", x.id, t.Extra&0xff, t.Extra>>16&0xff)
		}
		total := uint64(size) * uint64(a.Nelems)
		if total > 1<<32-1 {
			return r.report(id, "array-size", "%d elements of %d bytes exceed 4 GiB", a.Nelems, size)
		}
		return r.pop(at, uint32(total))
	}
	return failed
}

// regularInt says whether an INT is as wide as a C integer type: 1, 2, 4, 8 or 16 bytes of bits at
// offset 0.
func regularInt(t *btf.Type) bool {
	switch t.Extra & 0xff {
	case 8, 16, 32, 64, 128:
		return t.Extra>>16&0xff == 0
	}
	return false
}
