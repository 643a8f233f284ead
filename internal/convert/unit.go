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
	prints dwarf.Prints
	root   root // the last that visitTypeDIE met

	declares *declarations // of an imported unit that was walked over

	codeless []uint32        // functions without code that may have a symbol all the same
	origins  map[uint32]bool // the abstract instances of functions that have code

	number uint32 // 0: the one that is converted; others count from 1
}

// convert reads unit h, which is counted under number.
func (c *converter) convert(h *dwarf.Unit, number int) error {
	u := &c.main
	if err := u.load(h); err != nil {
		return err
	}
	if u.r.Root.Tag == std.TagPartialUnit {
		c.partial++
		return nil // read where it is imported
	}
	c.whole = true
	if u.r.Root.Tag != std.TagCompileUnit && u.r.Root.Tag != std.TagTypeUnit {
		return u.r.Errorf(u.r.Root.Off, "the unit's first entry is %v, not a compilation unit",
			u.r.Root.Tag)
	}
	if u.r.Root.Has(dwarf.DwoName) {
		return u.r.Errorf(u.r.Root.Off,
			"split DWARF: the types are in a .dwo file; compile without -gsplit-dwarf")
	}
	if c.opt.excluded(&u.r.Root) {
		c.excluded++
		return nil
	}
	file, err := u.r.String(&u.r.Root, dwarf.Name)
	if err != nil {
		return err
	}
	name := "" // of a type unit
	if h.Kind != dwarf.UnitType {
		name = path.Base(string(file))
	}
	if err := c.read(name); err != nil {
		return err
	}
	if c.conflict {
		if err := c.readPinned(h, name); err != nil {
			return err
		}
	}
	c.end(number)
	return nil
}

// read makes the environment of the unit that is loaded: of what it declares itself, what it
// imports, and what it refers to in other units.
func (c *converter) read(file string) error {
	c.begin(file)
	if err := c.main.walk(); err != nil {
		return err
	}
	if err := c.takeImports(); err != nil {
		return err
	}
	if err := c.reach(); err != nil {
		return err
	}
	if err := c.walkOrphans(); err != nil {
		return err
	}
	c.addCandidates()
	return nil
}

func (u *unit) load(h *dwarf.Unit) error {
	u.memo.reset(h.Len)
	if err := u.r.Load(u.c.d, h); err != nil {
		return err
	}
	if u == &u.c.main {
		u.prints.Merged = !u.c.d.File.Relocatable()
	}
	if !u.c.single {
		u.prints.Reset(&u.r)
	}
	return nil
}

// walk visits the entries that declare types, functions and variables. A definition counts wherever
// it stands: in a function, a block or a namespace, in a struct, in a prototype.
func (u *unit) walk() error {
	u.codeless = u.codeless[:0]
	clear(u.origins)
	off := u.r.Root.Next
	if !u.r.Root.Children {
		return nil
	}
	for depth, global := 1, 1; depth > 0; {
		next, deeper := u.r.SkipIdle(off, depth != global)
		off, depth = next, depth+deeper
		if end, err := u.visitRoot(off); err != nil {
			return err
		} else if end != 0 {
			off = end
			continue
		}
		e, err := u.r.Peek(off)
		if err != nil {
			return err
		}
		if e.Abbrev == nil {
			if uint64(e.Next) >= u.r.Unit.Len {
				break
			}
			depth--
			global = min(global, depth)
			off = e.Next
			continue
		}
		enter, next, err := u.visit(e, depth == global)
		if err != nil {
			return err
		}
		if next != 0 {
			off = next
			continue
		}
		if !enter || !e.Abbrev.Encloses {
			if off, err = u.r.Behind(e); err != nil {
				return err
			}
			continue
		}
		if e.Abbrev.Tag == std.TagNamespace && global == depth {
			global++
		}
		depth++
		off = e.Next
	}
	return u.visitCodeless()
}

// visit takes what e declares. It tells whether what e encloses is to be visited too, and the offset
// after e's children if that is known. global: e is not inside a function.
func (u *unit) visit(e dwarf.Peeked, global bool) (enter bool, next uint32, err error) {
	d := &u.c.top
	switch e.Abbrev.Tag {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType, std.TagTypedef:
		return u.visitType(e)
	case std.TagSubprogram:
		return u.visitFunction(e)
	case std.TagVariable:
		if !global || !e.Has(dwarf.Location) {
			return true, 0, nil
		}
		if err := u.r.Read(e.Off, d); err != nil {
			return false, 0, err
		}
		return true, 0, u.visitVariable(d)
	case std.TagImportedUnit:
		if err := u.r.Read(e.Off, d); err != nil {
			return false, 0, err
		}
		return false, 0, u.visitImport(d)
	}
	return true, 0, nil
}

// visitRoot takes the type at off, if it follows the plan of one that is a root, and returns where
// the walk goes on.
func (u *unit) visitRoot(off uint32) (end uint32, err error) {
	if u.alone() {
		return 0, nil
	}
	u.prints.Enclosed = false
	fp, end, err := u.prints.Root(off)
	if err != nil || end == 0 || u.prints.Enclosed {
		return 0, err
	}
	return end, u.know(off, fp)
}

// know takes the type at off. One that is known by its fingerprint need not be understood again.
func (u *unit) know(off uint32, fp dwarf.Fingerprint) error {
	if r := u.c.roots.get(fp); r != nil {
		u.c.take(*r)
		return nil
	}
	u.root, u.c.byName = root{}, false
	if err := u.visitTypeDIE(off); err != nil {
		return err
	}
	if u.root.id != 0 && !u.c.byName {
		u.c.roots.put(fp, u.root)
	}
	return nil
}

// visitType takes a type that may be a root. It returns what visit does.
func (u *unit) visitType(e dwarf.Peeked) (enter bool, end uint32, err error) {
	if e.Has(dwarf.Declaration) && !e.Has(dwarf.Signature) && u.r.Const(e, dwarf.Declaration) != 0 {
		return true, 0, nil
	}
	if !e.Has(dwarf.Name) && !e.Has(dwarf.Signature) && e.Abbrev.Tag != std.TagEnumerationType {
		return true, 0, nil // reached through what holds it
	}
	plain := e.Has(dwarf.Name) && !e.Has(dwarf.Declaration) && !e.Has(dwarf.Signature) ||
		e.Abbrev.Tag == std.TagEnumerationType
	if !plain || u.alone() {
		return true, 0, u.visitTypeDIE(e.Off)
	}
	var fp dwarf.Fingerprint
	u.prints.Enclosed = false
	if e.Abbrev.Tag == std.TagTypedef {
		fp, err = u.prints.Type(e.Off, 0)
		enter = true
	} else {
		fp, end, err = u.prints.Entry(e, 0)
	}
	if err != nil {
		return false, 0, err
	}
	if u.prints.Enclosed {
		enter, end = true, 0
	}
	return enter, end, u.know(e.Off, fp)
}

// take adds a root to the environment.
func (c *converter) take(r root) {
	if r.id != 0 && c.item(r.id, r.stub) {
		c.conflict = true
	}
}

func (u *unit) visitTypeDIE(off uint32) error {
	e := &u.c.top
	if err := u.r.Read(off, e); err != nil {
		return err
	}
	if e.Tag == std.TagTypedef {
		return u.visitTypedef(e)
	}
	return u.visitTagged(e)
}

func (u *unit) visitTypedef(e *dwarf.DIE) error {
	t := typeRef{u, e.Off}
	if _, err := t.hash(0); err != nil {
		return err
	}
	u.c.lock()
	defer u.c.mu.Unlock()
	id, err := t.build(0)
	if err != nil || id == 0 || u.c.g.Node(id).Kind != types.KindTypedef {
		return err
	}
	u.root = root{id: id}
	u.c.take(u.root)
	if !u.r.Annotated() {
		return nil
	}
	return u.declTags(e, id, -1)
}

// visitTagged takes a struct, union or enum. Unnamed ones are reached through what holds them,
// except enums, whose enumerators are names of their own.
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
		if types.TagOf(d.kind) == types.TagEnum && len(d.elems) == 0 {
			return nil // BTF can't tell an enum without enumerators from a declaration
		}
	} else if d.kind != types.KindEnum && d.kind != types.KindEnum64 {
		return nil
	}
	h, err := u.find(&d)
	if err != nil {
		return err
	}
	u.c.lock()
	defer u.c.mu.Unlock()
	id, err := u.findOrBuild(h, &d, e.Off)
	if err != nil {
		return err
	}
	u.root = root{id: id}
	if named {
		u.root.stub = u.c.g.StubFor(u.c.g.Node(id))
	}
	u.c.take(u.root)
	if !named {
		return nil
	}
	if u.c.pinned {
		n := u.c.g.Node(id)
		stub := u.c.g.PinnedStub(types.TagOf(n.Kind), n.Name, u.provisional(e.Off))
		if err := u.c.g.Define(stub, id); err != nil {
			return err
		}
	}
	if !u.r.Annotated() {
		return nil
	}
	target := u.root.stub
	if err := u.declTags(e, target, -1); err != nil {
		return err
	}
	return u.elemDeclTags(e, std.TagMember, target, nil)
}
