package convert

import (
	std "debug/dwarf"
	"path"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// unit is a DWARF unit that is loaded, and what is known of its types so far.
type unit struct {
	c      *converter
	r      dwarf.Reader
	memo   memo
	nested []uint32 // types defined inside others, still to be visited

	// defs are the entries of tagged definitions, and conflict tells that two of them define one tag differently. Then
	// the unit is read again with pins: for the definitions of such tags, what tells each from the others.
	defs     []uint32
	conflict bool
	pins     map[uint32]types.Hash
}

// convert reads unit h into the object.
func (c *converter) convert(h *dwarf.Unit) error {
	u := &c.main
	if err := u.load(h); err != nil {
		return err
	}
	if u.r.Root.Tag != std.TagCompileUnit && u.r.Root.Tag != std.TagPartialUnit {
		return u.r.Errorf(u.r.Root.Off, "the unit's first entry is %v, not a compilation unit", u.r.Root.Tag)
	}
	if u.r.Root.Has(dwarf.DwoName) {
		return u.r.Errorf(u.r.Root.Off, "split DWARF: the types are in a .dwo file; compile without -gsplit-dwarf")
	}
	if c.opt.excluded(&u.r.Root) {
		return nil
	}
	file, err := u.r.String(&u.r.Root, dwarf.Name)
	if err != nil {
		return err
	}
	c.begin(path.Base(string(file)))
	if err := u.walk(); err != nil {
		return err
	}
	if u.conflict {
		if err := u.pinDefinitions(); err != nil {
			return err
		}
		c.begin(path.Base(string(file)))
		if err := u.walk(); err != nil {
			return err
		}
	}
	c.end()
	return nil
}

func (u *unit) load(h *dwarf.Unit) error {
	u.memo.reset()
	u.nested, u.defs, u.conflict, u.pins = u.nested[:0], u.defs[:0], false, nil
	return u.r.Load(u.c.d, h)
}

// walk visits the entries in which types, functions and variables are declared: the unit's own children, and those of
// namespaces, functions and lexical blocks.
func (u *unit) walk() error {
	u.defs = u.defs[:0]
	e := &u.c.top
	off := u.r.Root.Next
	if !u.r.Root.Children {
		return nil
	}
	for depth, global := 1, 1; depth > 0; {
		if err := u.r.Read(off, e); err != nil {
			return err
		}
		if e.Null {
			if uint64(e.Next) >= u.r.Unit.Len {
				break
			}
			depth--
			global = min(global, depth)
			off = e.Next
			continue
		}
		enter, err := u.visit(e, depth == global)
		if err != nil {
			return err
		}
		for len(u.nested) > 0 {
			if err := u.visitNested(); err != nil {
				return err
			}
		}
		if !enter || !e.Children {
			if off, err = u.r.SkipChildren(e); err != nil {
				return err
			}
			continue
		}
		if e.Tag == std.TagNamespace && global == depth {
			global++
		}
		depth++
		off = e.Next
	}
	return nil
}

// visit takes what e declares and tells whether its children may declare more. global: e is not inside a function.
func (u *unit) visit(e *dwarf.DIE, global bool) (enter bool, err error) {
	switch e.Tag {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		return false, u.visitTagged(e)
	case std.TagTypedef:
		return false, u.visitTypedef(e)
	case std.TagSubprogram:
		return !e.Flag(dwarf.Declaration), u.visitFunction(e)
	case std.TagVariable:
		if global {
			return false, u.visitVariable(e)
		}
	case std.TagLexDwarfBlock, std.TagNamespace, std.TagModule:
		return true, nil
	case std.TagImportedUnit:
		return false, u.visitImport(e)
	}
	return false, nil
}

func (u *unit) visitNested() error {
	off := u.nested[len(u.nested)-1]
	u.nested = u.nested[:len(u.nested)-1]
	var e dwarf.DIE
	if err := u.r.Read(off, &e); err != nil {
		return err
	}
	_, err := u.visit(&e, true)
	return err
}

// visitImport takes what a partial unit (dwz) declares.
func (u *unit) visitImport(e *dwarf.DIE) error {
	t, err := u.ref(e, dwarf.Import)
	if err != nil || t.u == nil || t.u == u || u.c.imported[t.u] {
		return err
	}
	if u.c.imported == nil {
		u.c.imported = make(map[*unit]bool)
	}
	u.c.imported[t.u] = true
	saved := u.c.top
	err = t.u.walk()
	u.conflict = u.conflict || t.u.conflict
	u.c.top = saved
	return err
}

func (u *unit) visitTypedef(e *dwarf.DIE) error {
	id, err := typeRef{u, e.Off}.build(0)
	if err != nil || id == 0 || u.c.g.Node(id).Kind != types.KindTypedef {
		return err
	}
	u.c.item(id)
	if !u.r.Annotated() {
		return nil
	}
	return u.declTags(e, id, -1)
}

// visitTagged takes a struct, union or enum. Unnamed ones are reached through what holds them, except enums, whose
// enumerators are names of their own.
func (u *unit) visitTagged(e *dwarf.DIE) error {
	if e.Has(dwarf.Signature) && e.Class[dwarf.Signature] == dwarf.ClassSig {
		t, err := u.ref(e, dwarf.Signature)
		if err != nil {
			return err
		}
		var def dwarf.DIE
		if err := t.u.r.Read(t.off, &def); err != nil {
			return err
		}
		if def.Has(dwarf.Signature) {
			return u.r.Errorf(e.Off, "a type unit whose type is in another type unit")
		}
		return t.u.visitTagged(&def)
	}
	if e.Flag(dwarf.Declaration) {
		return nil
	}
	base := len(u.c.elems)
	defer func() { u.c.elems = u.c.elems[:base] }()
	d, err := u.describeTagged(e)
	if err != nil || d.alias {
		return err
	}
	named := d.name.class != dwarf.ClassNone
	if named {
		if err := u.define(e, &d); err != nil {
			return err
		}
		u.defs = append(u.defs, e.Off)
	} else if d.kind != types.KindEnum && d.kind != types.KindEnum64 {
		return nil
	}
	h, err := u.hashOf(&d, e.Off, 0)
	if err != nil {
		return err
	}
	id := u.c.g.Find(h)
	if id == 0 {
		if id, err = u.buildOf(&d, e.Off, 0); err != nil {
			return err
		}
	}
	u.c.item(id)
	if !named {
		return nil
	}
	if pin, ok := u.pins[e.Off]; ok {
		n := u.c.g.Node(id)
		stub := u.c.g.PinnedStub(types.TagOf(n.Kind), n.Name, pin)
		u.c.g.Node(stub).Ref = id
	} else if u.c.defines(id) {
		u.conflict = true
	}
	if !u.r.Annotated() {
		return nil
	}
	target := u.c.g.StubFor(u.c.g.Node(id))
	if err := u.declTags(e, target, -1); err != nil {
		return err
	}
	return u.elemDeclTags(e, std.TagMember, target)
}
