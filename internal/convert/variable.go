package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// visitVariable adds the variable at offset off if it has a fixed address in a section whose
// variables are encoded. If the entry has a name or a type, as in "extern T x[]; T x[5];", the
// entry's own is used, otherwise that of the declaration that the entry completes. After link-time
// optimization, name and type may be in an entry of the unit that defined the variable.
func (u *unit) visitVariable(off uint32) error {
	var e dwarf.DIE
	if err := u.r.Read(off, &e); err != nil {
		return err
	}
	addr, ok := u.r.VariableAddress(&e)
	if !ok {
		return nil
	}
	in := u.c.sectionOf(addr)
	if !u.c.encodes(in) {
		return nil
	}
	n, err := u.name(&e, dwarf.Name)
	if err != nil {
		return err
	}
	t, err := u.ref(&e, dwarf.Type)
	if err != nil {
		return err
	}
	external, owner := e.Flag(dwarf.External), u
	attr := dwarf.Specification
	if e.Has(dwarf.Origin) {
		attr = dwarf.Origin
	}
	spec, err := u.ref(&e, attr)
	if err != nil {
		return err
	}
	if spec.u != nil {
		var c dwarf.DIE
		if err := spec.u.r.Read(spec.off, &c); err != nil {
			return err
		}
		external = external || c.Flag(dwarf.External)
		name, err := spec.u.name(&c, dwarf.Name)
		if err != nil {
			return err
		}
		declared, err := spec.u.ref(&c, dwarf.Type)
		if err != nil {
			return err
		}
		if t.u == nil {
			t = declared
		}
		if n.class == dwarf.ClassNone {
			owner, n = spec.u, name
		}
	}
	if n.class == dwarf.ClassNone || t.u == nil {
		return nil
	}
	size, err := t.size(0)
	if err != nil || size > 1<<32-1 {
		return err
	}
	if size == 0 { // the size of a type that is only declared is unknown
		if declared, err := t.isDeclared(); err != nil || !declared {
			return err
		}
	}
	if _, err := t.hash(0); err != nil {
		return err
	}
	u.c.store.mu.Lock()
	defer u.c.store.mu.Unlock()
	str, err := owner.intern(n)
	if err != nil {
		return err
	}
	ref, err := t.node(0)
	if err != nil {
		return err
	}
	id := u.c.store.g.Add(types.Node{Kind: types.KindVar, Name: str, Size: uint32(size), Ref: ref,
		Aux: linkageOf(external), Flag: in != perCPU}, nil)
	u.c.current.add(item{id: id})
	return u.declTags(&e, id, -1)
}

// isDeclared reports whether t is a struct, union or enum that is only declared, or an array of
// such a type.
func (t typeRef) isDeclared() (bool, error) {
	var e dwarf.DIE
	for range types.MaxDepth {
		to, err := t.peel(&e)
		if err != nil || to.u == nil || e.Tag != std.TagArrayType {
			return to.u != nil && dwarf.IsTagged(e.Tag) && e.Flag(dwarf.Declaration), err
		}
		if t, err = to.u.ref(&e, dwarf.Type); err != nil {
			return false, err
		}
	}
	return false, nil
}

func linkageOf(external bool) uint32 {
	if external {
		return types.LinkageGlobal
	}
	return types.LinkageStatic
}

type section uint8

const (
	noSection section = iota
	perCPU            // per-CPU variables, which the feature var encodes
	otherSection
)

// Rule: variables that are not per-CPU, in a BTF object.
func (c *converter) sectionOf(addr uint64) section {
	s, f := c.scratch.lastSection, c.in.d.File
	if s == nil || !s.Contains(addr) {
		if s = f.SectionAt(addr); s == nil {
			if addr == 0 && f.Relocatable() {
				// Only a common symbol (-fcommon) is at 0: the linker places it later.
				return otherSection
			}
			return noSection
		}
		c.scratch.lastSection = s
	}
	if facts.IsPerCPU(f, s.Name) {
		return perCPU
	}
	return otherSection
}

// encodes reports whether variables in a section of kind s are encoded.
func (c *converter) encodes(s section) bool {
	f := c.in.opt.Features
	switch s {
	case perCPU:
		return f.Has(features.Var) || f.Has(features.GlobalVar)
	case otherSection:
		return f.Has(features.GlobalVar)
	}
	return false
}
