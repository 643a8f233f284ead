package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// visitSwept visits the definitions that a sweep finds, as far as a plan can read their entries.
// Visiting them before all other entries is faster, because the processor predicts more branches.
func (u *unit) visitSwept() error {
	list := u.pending.list[:]
	if u.visited.on {
		list = nil
	}
	return u.prints.Sweep(list, func(n int) error {
		u.pending.n = n
		return u.visitPending()
	})
}

// visitDefinition adds the definition at offset off if a plan can read its entry (see package
// dwarf). end is the offset at which the walk continues, or 0 if the definition was not added.
func (u *unit) visitDefinition(off uint32) (end uint32, err error) {
	if u.c.repeats == repeatNone {
		return 0, nil
	}
	if d := u.visited.at(off); d != nil && d.end != 0 {
		u.c.current.add(d.item)
		return d.end, nil
	}
	u.prints.EnclosedRoot = false
	fp, end, err := u.prints.Definition(off)
	if err != nil || end == 0 || u.prints.EnclosedRoot {
		return 0, err
	}
	p := &u.pending
	p.list[p.n] = dwarf.Definition{Print: fp, Off: off, End: end}
	if p.n++; p.n == len(p.list) {
		err = u.visitPending()
	}
	return end, err
}

// pendingDefinitions are definitions whose fingerprints have not been looked up yet. Looking up
// many fingerprints together saves 2% of btfgen's user time for a vmlinux, because the processor
// then loads many slots at a time.
type pendingDefinitions struct {
	n    int // how many there are: fewer than fit into the list
	list [64]dwarf.Definition
}

// visitPending visits the pending definitions in the order in which they were found.
func (u *unit) visitPending() error {
	p := &u.pending
	list := p.list[:p.n]
	p.n = 0
	for i := range list {
		u.c.store.byPrint.items.fetch(list[i].Print)
	}
	for i := range list {
		if err := u.visitByPrint(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// visitByPrint adds a definition, and describes it only if its fingerprint is new. However,
// a definition with declaration tags is described each time, because these tags are items as well.
// An anonymous struct or union is never an item.
func (u *unit) visitByPrint(d *dwarf.Definition) error {
	if known := u.c.store.byPrint.items.get(d.Print); known != nil {
		u.c.current.add(*known)
		u.visited.put(d.Off, visited{*known, d.End})
		return nil
	}
	uncovered := u.c.uncovered
	found, err := u.visitNew(d.Off)
	if err == nil && u.c.uncovered == uncovered {
		u.c.store.byPrint.items.put(d.Print, found)
		u.visited.put(d.Off, visited{found, d.End})
	}
	return err
}

// visitedDefinitions remembers the definitions of a unit that have been visited, because each unit
// of a group that refers to them visits them.
type visitedDefinitions struct {
	on   bool // whether the unit is in a group
	offs offsets
	list []visited
	// If the bit off>>2 is not set, offs doesn't have off. Most offsets that are looked up are not in
	// offs, and few bits are set.
	set []uint64
}

type visited struct {
	item item
	end  uint32 // the offset after the definition, or 0 if its children must be visited
}

// reset prepares v for a unit of size bytes.
func (v *visitedDefinitions) reset(on bool, size uint64) {
	v.on, v.list = on, v.list[:0]
	v.offs.clear()
	if on {
		words := int(size>>8) + 1
		v.set = append(v.set[:0], make([]uint64, words)...)
	}
}

// put remembers the definition at offset off. The compiler inlines put and at, because most units
// are not in a group.
func (v *visitedDefinitions) put(off uint32, d visited) {
	if v.on {
		v.add(off, d)
	}
}

func (v *visitedDefinitions) add(off uint32, d visited) {
	v.set[off>>8] |= 1 << (off >> 2 & 63)
	v.offs.set(off, uint32(len(v.list)))
	v.list = append(v.list, d)
}

// at returns the definition at offset off, or nil if it isn't known.
func (v *visitedDefinitions) at(off uint32) *visited {
	if !v.on {
		return nil
	}
	return v.find(off)
}

func (v *visitedDefinitions) find(off uint32) *visited {
	if v.set[off>>8]>>(off>>2&63)&1 != 0 {
		if i, has := v.offs.get(off); has {
			return &v.list[i]
		}
	}
	return nil
}

// visitType adds a type that may be a definition. It returns the same values as visit.
func (u *unit) visitType(e dwarf.Head) (enter bool, end uint32, err error) {
	if e.Has(dwarf.Declaration) && !e.Has(dwarf.Signature) &&
		e.Value(dwarf.Declaration).Val != 0 {
		return true, 0, nil
	}
	anonymous := !e.Has(dwarf.Name) && !e.Has(dwarf.Signature) && !e.Has(dwarf.Specification) &&
		e.Abbrev.Tag != std.TagEnumerationType
	if anonymous && !u.r.Annotated() {
		return true, 0, nil // reached through the type that contains it
	}
	plain := e.Has(dwarf.Name) && !e.Has(dwarf.Declaration) && !e.Has(dwarf.Signature) ||
		e.Abbrev.Tag == std.TagEnumerationType || anonymous
	if !plain || u.c.repeats == repeatNone {
		_, err = u.visitNew(e.Off)
		return true, 0, err
	}
	if err := u.visitPending(); err != nil {
		return false, 0, err
	}
	if d := u.visited.at(e.Off); d != nil {
		u.c.current.add(d.item)
		return d.end == 0, d.end, nil
	}
	var fp dwarf.Fingerprint
	u.prints.EnclosedRoot = false
	if anonymous || e.Abbrev.Tag == std.TagTypedef {
		fp, err = u.prints.Type(e.Off)
		enter = true
	} else {
		fp, end, err = u.prints.Entry(e)
	}
	if err != nil {
		return false, 0, err
	}
	if u.prints.EnclosedRoot {
		enter = true
	}
	if enter {
		end = 0
	}
	return enter, end, u.visitByPrint(&dwarf.Definition{Print: fp, Off: e.Off, End: end})
}

// visitNew adds the definition at offset off, and returns its item in the current unit.
func (u *unit) visitNew(off uint32) (item, error) {
	var e dwarf.DIE
	if err := u.r.Read(off, &e); err != nil {
		return item{}, err
	}
	if e.Tag == std.TagTypedef {
		return u.visitTypedef(&e)
	}
	return u.visitTagged(&e)
}

func (u *unit) visitTypedef(e *dwarf.DIE) (found item, err error) {
	t := typeRef{u, e.Off}
	if _, err := t.hash(0); err != nil {
		return found, err
	}
	u.c.store.mu.Lock()
	defer u.c.store.mu.Unlock()
	id, err := t.node(0)
	if err != nil || id == 0 || u.c.store.g.Node(id).Kind != types.KindTypedef {
		return found, err
	}
	found.id = id
	u.c.current.add(found)
	if !u.r.Annotated() {
		return found, nil
	}
	return found, u.declTags(e, id, -1)
}

// visitTagged adds a struct, union or enum. For an anonymous struct or union, it adds only the
// declaration tags: the type itself is reached through the type that contains it. Anonymous enums
// are added, because their enumerators have names.
func (u *unit) visitTagged(e *dwarf.DIE) (found item, err error) {
	if e.Has(dwarf.Signature) {
		t, err := u.ref(e, dwarf.Signature)
		if err != nil {
			return found, err
		}
		var def dwarf.DIE
		if err := t.u.r.Read(t.off, &def); err != nil {
			return found, err
		}
		if def.Has(dwarf.Signature) {
			return found, u.r.Damaged(e.Off, "refers to a type unit that refers to yet another "+
				"type unit")
		}
		return t.u.visitTagged(&def)
	}
	if e.Flag(dwarf.Declaration) {
		return found, nil
	}
	enum := e.Tag == std.TagEnumerationType
	if !enum && !e.Has(dwarf.Name) && !e.Has(dwarf.Specification) {
		if noted, err := u.annotated(e); err != nil || !noted {
			return found, err
		}
	}
	base := len(u.c.scratch.elems)
	defer func() { u.c.scratch.elems = u.c.scratch.elems[:base] }()
	d, err := u.describeTagged(e)
	if err != nil || d.alias {
		return found, err
	}
	named := d.name.class != dwarf.ClassNone
	if named {
		if err := u.define(e, &d); err != nil {
			return found, err
		}
		if enum && len(d.elems) == 0 {
			return found, nil // in BTF, an enum without enumerators is a declaration
		}
	}
	h, err := u.hashOf(&d, 0)
	if err != nil {
		return found, err
	}
	u.c.store.mu.Lock()
	defer u.c.store.mu.Unlock()
	id, err := u.nodeOf(h, &d, e.Off, 0)
	if err != nil {
		return found, err
	}
	target := id
	switch {
	case named:
		target = u.c.store.g.StubFor(u.c.store.g.Node(id))
		found = item{id, target}
	case enum:
		found = item{id: id}
	}
	u.c.current.add(found)
	if named && u.c.pinned {
		n := u.c.store.g.Node(id)
		stub := u.c.store.g.PinnedStub(types.TagOf(n.Kind), n.Name, u.provisional(e.Off))
		if err := u.c.store.g.Define(stub, id); err != nil {
			return found, err
		}
		target = stub
	}
	if enum || !u.r.Annotated() {
		return found, nil // the kernel refuses tags on enums (btf_decl_tag_resolve)
	}
	if err := u.declTags(e, target, -1); err != nil {
		return found, err
	}
	return found, u.memberDeclTags(&d, target)
}
