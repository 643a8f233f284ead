package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// inlinedFunction is a function that was inlined in the unit.
type inlinedFunction struct {
	first, count int      // in sites.params
	entries      int      // count and, if the function is variadic, 1 for "..."
	id           types.ID // its node, or 0 if it isn't in the graph yet
	made         int      // in that case, its index in sites.made
}

type inlinedParam struct {
	typeRef // the entry of the parameter
	name    types.Hash
	typ     typeRef
	size    uint32
}

// inlined returns the index in s.functions of the function with the abstract instance t or, if the
// function can't be encoded, the negative reason.
func (u *unit) inlined(t typeRef) (n int32, err error) {
	s := u.c.sites
	if t.u == u {
		if n, seen := s.own.get(t.off); seen {
			return int32(n), nil
		}
	} else if n, seen := s.origins[t]; seen {
		return n, nil
	}
	if n, err = u.addInlined(t); err != nil {
		return 0, err
	}
	if t.u == u {
		s.own.set(t.off, uint32(n))
	} else {
		s.origins[t] = n
	}
	return n, nil
}

// addInlined adds the function with the abstract instance t to s.functions, and returns the same as
// inlined.
func (u *unit) addInlined(t typeRef) (int32, error) {
	s := u.c.sites
	e := &s.other
	if err := t.u.r.Read(t.off, e); err != nil {
		return 0, err
	}
	if e.Tag != std.TagSubprogram {
		return -int32(inlines.NoFunction), nil
	}
	f := &u.c.scratch.function
	name, err := t.u.nameInlined(e, f)
	switch {
	case err != nil:
		return 0, err
	case name.hash == types.Hash{}:
		return -int32(inlines.NoName), nil
	case name.odd:
		return -int32(inlines.NotIdentifier), nil
	}
	own, err := f.proto.u.r.Function(f.protoDIE)
	if err != nil {
		return 0, err
	}
	if len(own.Parameters) > maxParameters {
		return -int32(inlines.ManyParameters), nil
	}
	n := inlinedFunction{first: len(s.params), entries: len(own.Parameters)}
	usual := e == f.protoDIE // the prototype is that of e, and "..." is its last parameter
	for i := range own.Parameters {
		p := &own.Parameters[i]
		if p.Varying {
			usual = usual && i == n.entries-1
			continue
		}
		if p.Name.Class == dwarf.ClassNone {
			s.params = s.params[:n.first]
			return -int32(inlines.UnnamedParameter), nil
		}
		name, err := f.proto.u.nameOf(p.Off, p.Name)
		if err == nil {
			name, err = f.proto.u.spelled(p.Off, name)
		}
		if err != nil {
			return 0, err
		}
		typ, err := f.proto.u.refTo(p.Off, p.Type)
		if err != nil {
			return 0, err
		}
		s.params = append(s.params, inlinedParam{typeRef{f.proto.u, p.Off}, name.hash, typ, 0})
		n.count++
	}
	for i := range s.params[n.first:] {
		p := &s.params[n.first+i]
		var known params.Param
		if err := p.typ.classify(&known); err != nil {
			return 0, err
		}
		p.size = known.Size
	}
	made := types.Node{Kind: types.KindFunc, Aux: types.LinkageStatic}
	if usual && u.c.repeats == repeatMost {
		proto, err := n.hash(f, s.params[n.first:])
		if err != nil {
			return 0, err
		}
		n.id = u.c.findInlined(hashCandidate(&made, name.hash, proto))
	}
	if n.id == 0 {
		proto, err := t.u.prototype(e, f)
		if err == nil && len(f.name) == 0 {
			f.name, err = t.u.r.String(e, dwarf.Name)
		}
		if err != nil {
			return 0, err
		}
		n.made = len(s.made)
		s.made = append(s.made, newCandidate(f.name, made, proto))
	}
	s.functions = append(s.functions, n)
	return int32(len(s.functions) - 1), nil
}

// findInlined returns the node of a function, or 0 if the graph has none. Many units have the same
// functions. The functions that were found last are in a small table, because it takes long to
// find a node among all nodes, which no cache holds.
func (c *converter) findInlined(h types.Hash) types.ID {
	if c.scratch.inlined == nil {
		c.scratch.inlined = make([]foundFunction, 1<<11)
	}
	found := &c.scratch.inlined[h.A%uint64(len(c.scratch.inlined))]
	if found.hash == h {
		return found.id
	}
	c.store.mu.Lock()
	id := c.store.g.Find(h)
	c.store.mu.Unlock()
	if id != 0 {
		*found = foundFunction{h, id}
	}
	return id
}

type foundFunction struct {
	hash types.Hash
	id   types.ID
}

// nameInlined sets f from the abstract instance e, and returns the function's name. If f.name is
// empty, e has the name.
func (u *unit) nameInlined(e *dwarf.DIE, f *function) (n name, err error) {
	if !e.Has(dwarf.Origin) && !e.Has(dwarf.Specification) { // usually true
		f.name, f.proto, f.protoDIE = nil, typeRef{u, e.Off}, e
		if f.returns, err = u.ref(e, dwarf.Type); err != nil {
			return n, err
		}
		return u.name(e, dwarf.Name)
	}
	if err := u.resolveFunction(e, f); err != nil || len(f.name) == 0 {
		return n, err
	}
	return name{hash: types.HashString(f.name), odd: !btf.ValidIdentifier(f.name)}, nil
}

// hash returns the hash of the function's prototype. It expects "..." after the other parameters.
func (n *inlinedFunction) hash(f *function, list []inlinedParam) (types.Hash, error) {
	returns, err := f.returns.hash(1)
	if err != nil {
		return types.Hash{}, err
	}
	h := types.Start(types.KindFuncProto, 0, 0, types.Hash{}, returns)
	for i := range list {
		typ, err := list[i].typ.hash(1)
		if err != nil {
			return types.Hash{}, err
		}
		h.Elem(list[i].name, typ, 0)
	}
	for range n.entries - n.count {
		h.Elem(types.Hash{}, types.Hash{}, 0)
	}
	return h.Sum(false), nil
}

// addInlined adds the unit's inlined functions to the graph.
func (c *converter) addInlined() (err error) {
	if c.sites == nil || len(c.sites.functions) == 0 {
		return nil
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	s := c.sites
	for i := range s.functions {
		f := &s.functions[i]
		if f.id == 0 {
			if f.id, err = c.addCandidate(&s.made[f.made]); err != nil {
				return err
			}
		}
		s.ids = append(s.ids, f.id)
	}
	return nil
}
