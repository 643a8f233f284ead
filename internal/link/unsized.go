package link

import (
	"cmp"
	"math"
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// The kernel refuses BTF in which something has a type without a size (kernel/bpf/btf.c:
// btf_struct_resolve, btf_array_resolve, btf_func_proto_check, btf_var_resolve). In C and C++, all
// types of members, elements, parameters and variables are complete. But debugging information may
// only declare such a type, because the compiler expects that another unit defines it: clang++
// defines a class where its constructor is, g++ where its first virtual function is, and gcc with
// -femit-struct-debug-* where the type's file is compiled. If no unit and no base defines the type:
//
//   - a member is left out; the other members and the size of the struct are right
//   - a function is left out (types.FuncUnsized), and a variable (see decide)
//   - a pointer to such an array or prototype becomes a pointer to void
//
// A member is also left out if it doesn't fit into its struct, whichever of the units' definitions
// its tag means: a tag has no namespace, so the definition may be that of a different class.
//
// The kernel refuses FLOAT members that aren't aligned (btf_float_check_member), as packed structs
// may have them. They become structs without members, of the same size; libbpf replaces all FLOATs
// in the same way for kernels that don't know them (bpf_object__sanitize_btf).

// unsized says what has no size among the shapes of a survey.
type unsized struct {
	survey  *survey.Survey
	base    base.Base
	tags    map[types.ID]bool // the stubs of tags that nothing defines
	misfits map[member]bool   // members that are too large for their struct
}

// member is a member of a struct or union.
type member struct {
	of types.ID
	n  int
}

// findUnsized returns what has no size, or nil if everything has a size.
// Rule: types without a size, used by value: which. Source: kernel btf_struct_resolve,
// btf_array_resolve, btf_func_proto_check.
func findUnsized(s *survey.Survey, b base.Base) *unsized {
	u := &unsized{s, b, map[types.ID]bool{}, map[member]bool{}}
	sizes := make([]uint64, len(s.Tags.List)) // by tag: the size of the smallest definition + 1
	for _, id := range s.Tags.Nodes {
		if s.Kinds[id] != types.KindStub && s.Weight[id] != 0 {
			t, size := s.Tags.Of(id), uint64(s.Nodes[id].Size)+1
			if sizes[t] == 0 || size < sizes[t] {
				sizes[t] = size
			}
		}
	}
	var stubs []types.ID
	for t, size := range sizes {
		stubs = s.Tags.Stubs(int32(t), stubs[:0])
		for _, stub := range stubs {
			switch tag := s.Nodes[stub].Tag(); {
			case tag == types.TagTypedef: // of BTF, which has no such types
			case size == 0 && tag == types.TagEnum:
				u.fit(stub, int32(t), 4) // this is how the declaration of an enum is encoded
			case size != 0:
				u.fit(stub, int32(t), size-1)
			case u.isHeld(stub) && !u.inBase(int32(t)):
				u.tags[stub] = true
			}
		}
	}
	for c := range s.Variables.All() {
		to, _ := s.Graph.SkipModifiers(c.Ref)
		t, enum := s.Tags.Of(to), s.Nodes[to].Tag() == types.TagEnum
		if s.Kinds[to] == types.KindStub && !enum && sizes[t] == 0 && !u.inBase(t) {
			u.tags[to] = true
		}
	}
	if len(u.tags)+len(u.misfits) == 0 {
		return nil
	}
	return u
}

func (u *unsized) inBase(tag int32) bool {
	if u.base == nil {
		return false
	}
	definition, _, _ := u.base.Tag(u.survey.TagHash(tag))
	return definition != 0
}

// isHeld reports whether something has the type id by value.
func (u *unsized) isHeld(id types.ID) bool {
	for user := range u.survey.Users.Of(id) {
		switch k := u.survey.Kinds[user]; {
		case isModifier(k):
			if u.isHeld(user) {
				return true
			}
		case k != types.KindPtr:
			return true
		}
	}
	return false
}

// fit notes the members that have the type id, whose size is given, and don't fit into their
// structs. The type is a definition of the tag, or a typedef, qualified type or array of it.
func (u *unsized) fit(id types.ID, tag int32, size uint64) {
	last := types.ID(0)
	for user := range u.survey.Users.Of(id) {
		if user == last { // a struct that has several members of the type
			continue
		}
		last = user
		switch n := &u.survey.Nodes[user]; {
		case isModifier(n.Kind):
			u.fit(user, tag, size)
		case n.Kind == types.KindArray:
			u.fit(user, tag, min(size*uint64(n.Size), math.MaxUint32))
		case n.Kind == types.KindStruct || n.Kind == types.KindUnion:
			for i, e := range u.survey.Graph.ElemsOf(n) {
				at, bits := place(n, &e)
				if e.Ref == id && bits == 0 && at/8+size > uint64(n.Size) && !u.inBase(tag) {
					u.misfits[member{user, i}] = true
				}
			}
		}
	}
}

func isModifier(k types.Kind) bool {
	switch k {
	case types.KindConst, types.KindVolatile, types.KindRestrict, types.KindTypedef,
		types.KindTypeTag:
		return true
	}
	return false
}

// place returns the offset of a member of n in bits and, for a bitfield, its size in bits.
func place(n *types.Node, e *types.Elem) (at, bits uint64) {
	if n.Flag {
		return e.Val & (1<<24 - 1), e.Val >> 24
	}
	return e.Val & (1<<32 - 1), 0
}

// findUnsound finds what the kernel would refuse in a survey's units: types without a size, which u
// has, and FLOATs that aren't aligned. It finds nothing if the link has no facts: such a result may
// be linked again, with units that define what these units declare. BTF that was linked before
// stays as it is, unless other units are linked with it.
func findUnsound(o *object.Object, s *survey.Survey, opt *Options) (u *unsized, found bool) {
	fresh := func(u object.Unit) bool { return !u.FromBTF }
	if opt.Facts == nil || !slices.ContainsFunc(s.Units, fresh) {
		return nil, false
	}
	u = findUnsized(s, opt.Base)
	return u, u != nil || anyMisaligned(o, s.Kinds)
}

// anyMisaligned reports whether a struct has a FLOAT that isn't aligned.
func anyMisaligned(o *object.Object, kinds []types.Kind) bool {
	if !slices.Contains(kinds, types.KindFloat) {
		return false
	}
	g := o.Graph
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind == types.KindStruct {
			for _, e := range g.ElemsOf(n) {
				if misaligned(g, n, &e, o.Target.AddrSize) != 0 {
					return true
				}
			}
		}
	}
	return false
}

// misaligned returns the size in bytes of a FLOAT member of n that isn't aligned, or 0 for any
// other member. pointer is the size of a pointer in bytes, or 0 if it isn't known.
// Rule: FLOATs that aren't aligned. Source: kernel btf_float_check_member; libbpf.c
// bpf_object__sanitize_btf.
func misaligned(g *types.Graph, n *types.Node, e *types.Elem, pointer int) uint32 {
	to, _ := g.SkipModifiers(e.Ref)
	t := &g.Nodes[to]
	if t.Kind != types.KindFloat {
		return 0
	}
	align := min(uint64(t.Size), uint64(cmp.Or(pointer, 8)))
	if at, _ := place(n, e); align == 0 || at%(8*align) == 0 {
		return 0
	}
	return t.Size
}
