package decide

import (
	"bytes"

	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// tagKfuncs makes the DECL_TAGs for encoded kfuncs and, with the feature attributes, the type tags
// for kfuncs that return or take arena pointers.
// Rule: kfuncs: tags bpf_kfunc, bpf_fastcall. Source: pahole btf__tag_kfunc.
func (d *decider) tagKfuncs() {
	if d.facts == nil || !d.features.Has(features.DeclTagKfuncs) {
		return
	}
	for i := range d.facts.Kfuncs {
		k := &d.facts.Kfuncs[i]
		s, ok := d.shapes.Graph.Strs.Lookup([]byte(k.Name))
		if !ok {
			continue
		}
		fn, ok := d.kfuncs[s]
		if !ok {
			continue
		}
		if d.features.Has(features.DeclTag) {
			d.tagFunction(fn, "bpf_kfunc")
			if k.Flags&facts.Fastcall != 0 {
				d.tagFunction(fn, "bpf_fastcall")
			}
		}
		proto := &d.functions[fn-d.first].proto
		if d.features.Has(features.Attributes) {
			*proto = d.arenaPrototype(*proto, k.Flags)
		}
	}
}

func (d *decider) tagFunction(fn Type, value string) {
	d.make(Node{Kind: types.KindDeclTag, Name: d.shapes.Graph.Strs.Intern([]byte(value)), Ref: fn})
}

// isArena reports whether a kfunc's parameter has the name of an arena pointer (is_arena_param in
// resolve_btfids, since Linux 7.3).
func (d *decider) isArena(parameter Elem) bool {
	name := d.shapes.Graph.Strs.Bytes(parameter.Name)
	return bytes.HasSuffix(name, []byte("__arena")) ||
		bytes.HasSuffix(name, []byte("__arena__nullable"))
}

// arenaPrototype returns a copy of a prototype in which the pointers selected by the flags, and by
// the parameters' names, point to the arena's address space. It returns proto if there are none.
// Rule: kfuncs: arena attributes. Source: pahole btf__add_bpf_arena_type_tags,
// btf__tag_bpf_arena_ptr.
func (d *decider) arenaPrototype(proto Type, flags uint32) Type {
	made, elems := d.types.Resolved(proto)
	any := false
	arena := func(ref *Type, is bool) {
		if is {
			*ref, any = d.arenaPointer(*ref), true
		}
	}
	arena(&made.Ref, flags&facts.ArenaRet != 0)
	bits := [...]uint32{facts.ArenaArg1, facts.ArenaArg2}
	for i := range elems {
		bit := uint32(0)
		if i < len(bits) {
			bit = bits[i]
		}
		arena(&elems[i].Ref, flags&bit != 0 || d.isArena(elems[i]))
	}
	if !any {
		return proto
	}
	return d.makeOnce(made, elems...)
}

// arenaPointer returns PTR -> TYPE_TAG address_space(1) -> T for PTR -> T. It returns other types
// unchanged.
func (d *decider) arenaPointer(k Type) Type {
	if k == 0 || d.types.Node(k).Kind != types.KindPtr {
		return k
	}
	tag := d.makeOnce(Node{Kind: types.KindTypeTag, Flag: true,
		Name: d.shapes.Graph.Strs.Intern([]byte("address_space(1)")), Ref: d.types.RefOf(k)})
	return d.makeOnce(Node{Kind: types.KindPtr, Ref: tag})
}

// once has the types that makeOnce has returned.
type once struct {
	types map[types.Hash]Type // by keyOf
	keys  map[Type]types.Hash // the inverse, for made types
}

// makeOnce returns a type that equals the given one. If there is none yet, it makes the type.
func (d *decider) makeOnce(n Node, elems ...Elem) Type {
	key := n.HashWith(&d.shapes.Graph.Strs, elems, d.keyOf)
	if k, ok := d.once.types[key]; ok {
		return k
	}
	var k Type
	if id := d.shapes.Graph.Find(key); id != 0 && d.types.Fixed(id) {
		k = d.types.Of(id)
	} else {
		k = d.make(n, elems...)
		d.once.keys[k] = key
	}
	d.once.types[key] = k
	return k
}

// keyOf returns a hash of the content by which makeOnce compares types.
func (d *decider) keyOf(k Type) types.Hash {
	if key, ok := d.once.keys[k]; ok {
		return key
	}
	if d.types.IsFixed(k) && d.types.Node(k).IsDefinition() {
		return d.shapes.TagHash(d.shapes.Tags.Of(d.types.Shape(k)))
	}
	return d.types.Content(k)
}
