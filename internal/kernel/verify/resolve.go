package verify

import "github.com/rules-btf/rules_btf/internal/format/btf"

// maxDepth is the size of the stack of the kernel's resolver (MAX_RESOLVE_DEPTH). Whether a chain
// is too deep depends on the order of ids: types are resolved in that order, and a chain ends at a
// type that has already been resolved.
const maxDepth = 32

// state says how far the resolution of a type in the blob has advanced.
type state uint8

const (
	untouched state = iota
	open            // on the stack
	resolved
	broken // violates a rule, or needs a type that does; no longer checked
)

// mode selects which types a descent follows. A descent from a pointer follows pointers and
// modifiers, to find pointers that lead back to themselves. A descent from a struct or array
// follows types contained by value.
type mode uint8

const (
	undecided mode = iota
	throughPointers
	throughContents
)

// resolver makes one pass over all types in the order of ids, like btf_check_all_types.
type resolver struct {
	*checker
	ptrSize uint32
	state   []state
	target  []uint32 // for modifiers, pointers and variables: the first type after modifiers
	size    []uint32 // for arrays: size in bytes
	stack   []vertex
	mode    mode
}

type vertex struct {
	id   uint32
	next uint32 // for structs and datasecs: the first element not checked yet
}

type step uint8

const (
	done    step = iota // resolved
	descend             // another type was pushed and must be resolved first
	failed              // a violation was reported, or a needed type is broken
)

func (c *checker) references(ptrSize uint32) {
	n := len(c.b.Types)
	r := &resolver{
		checker: c, ptrSize: ptrSize, stack: make([]vertex, 0, maxDepth),
		state: make([]state, n), target: make([]uint32, n), size: make([]uint32, n),
	}
	for i, bad := range c.bad {
		if bad {
			r.state[i] = broken
		}
	}
	for i := range c.b.Types {
		id := c.b.StartID + uint32(i)
		k := c.b.Types[i].Kind
		if needsResolve(k) {
			r.resolve(id)
		}
		if k == btf.KindFuncProto && r.state[i] != broken && r.proto(id) == failed {
			r.state[i] = broken
		}
	}
	r.contents()
}

// kind returns the kind of a type: KindVoid for the id 0. ok is false if the type doesn't exist.
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

// stateOf returns the state of any type: void and types in bases are resolved, types that don't
// exist are broken.
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
	r.checker.report(Load, id-r.b.StartID, rule, format, args...)
	return failed
}

// resolve resolves a type and the types that it needs. It returns false if any of them is broken.
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

// endsHere reports whether a descent in the current mode stops at types of kind k.
func (r *resolver) endsHere(k btf.Kind) bool {
	switch r.mode {
	case throughPointers:
		return !k.IsModifier() && k != btf.KindPtr
	case throughContents:
		return !k.IsModifier() && k != btf.KindArray && !k.IsComposite()
	}
	return !needsResolve(k)
}

// need returns done if a type is resolved as far as the mode requires. If not, it pushes the type.
func (r *resolver) need(from, id uint32) step {
	k, _ := r.kind(id)
	switch s := r.stateOf(id); {
	case s == broken:
		return failed
	case s == resolved || r.endsHere(k):
		return done
	case s == open:
		return r.report(from, "loop", "it refers to itself through type [%d]", id)
	case len(r.stack) == maxDepth:
		return r.report(from, "depth", "it needs more than %d types in a row; the kernel gives up",
			maxDepth)
	}
	r.push(id)
	return descend
}

// needsResolve reports whether btf_resolve must visit such a type before other types refer to it.
func needsResolve(k btf.Kind) bool {
	return k == btf.KindPtr || k == btf.KindArray || k == btf.KindFunc || k.IsComposite() ||
		k.IsModifier() || sourceOnly(k)
}

// sourceOnly reports whether only DATASECs, LOCSECs and tags may refer to a type of this kind.
func sourceOnly(k btf.Kind) bool {
	return k == btf.KindVar || k == btf.KindDeclTag || k == btf.KindDatasec ||
		k == btf.KindLocProto || k == btf.KindLocsec
}

// sizeless reports whether a type of this kind, such as void, has no size.
func sizeless(k btf.Kind) bool {
	return k == btf.KindVoid || k == btf.KindFwd || k == btf.KindFunc || k == btf.KindFuncProto ||
		k == btf.KindDeclTag || k.IsLocation()
}
