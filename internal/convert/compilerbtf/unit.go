package compilerbtf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// converter is the state of one thread.
type converter struct {
	*work
	obj    *object.Object
	shaper *object.Shaper

	// the blob that is being converted
	blob     btf.Blob
	own      uint32         // the offset in the strings at which normalise's names begin
	typeTags bool           // the blob has type tags
	fakes    map[int]uint32 // sizes of types that INT can't express, by index in blob.Types
	items    []types.ID
	made     map[uint32]types.ID // the candidates, by id of their FUNC or VAR

	linkage  linkage
	failed   failure
	skipped  []failure
	warnings []warning
}

func newConverter(w *work) *converter {
	f := w.file
	target := object.Target{AddrSize: f.AddrSize, Order: f.Order, Machine: uint16(f.Machine)}
	shaper := w.shapers().Take()
	return &converter{work: w, shaper: shaper, fakes: map[int]uint32{}, made: map[uint32]types.ID{},
		obj: &object.Object{Target: target, Features: w.opt.Features.Recorded(), Graph: shaper.Graph()}}
}

func (c *converter) convert(p *part) error {
	if err := c.load(p.data); err != nil {
		return err
	}
	if err := c.checkLinked(); err != nil {
		return err
	}
	if err := c.checkForm(); err != nil {
		return err
	}
	c.normalise(p)
	if err := c.shape(); err != nil {
		if deep := (*object.ModifiersError)(nil); errors.As(err, &deep) {
			err = &unencodable{fmt.Errorf("%w (--features=+skip_unencodable leaves such units out)", err)}
		}
		return err
	}
	c.items = c.items[:0]
	clear(c.made)
	for i := range c.blob.Types {
		c.take(uint32(i)+1, &c.blob.Types[i], p)
	}
	c.takeDeclTags()
	if err := c.checkNames(); err != nil {
		return err
	}
	slices.Sort(c.items)
	c.items = slices.Compact(c.items)
	file := c.obj.Graph.Strs.Intern([]byte(c.symbols.sourceName(p.source)))
	c.obj.Units = append(c.obj.Units,
		object.Unit{File: file, Count: 1, Items: slices.Clone(c.items)})
	return nil
}

func (c *converter) load(data []byte) error {
	names, err := c.blob.ParseTypes(data)
	if err != nil {
		return err
	}
	if c.blob.Order != c.file.Order {
		return fmt.Errorf("the BTF is %v, but the file is %v", c.blob.Order, c.file.Order)
	}
	c.own, c.typeTags = uint32(len(names)), false
	clear(c.fakes)
	c.blob.Strings = string(names) + intName + "\x00" + fakeInt + "\x00"
	if c.opt.KABIPrefix != "" {
		c.blob.Strings += c.opt.KABIPrefix + "\x00"
	}
	return nil
}

func (c *converter) shape() error {
	if c.plainly {
		return c.shaper.LoadPlainly(&c.blob)
	}
	return c.shaper.Load(&c.blob)
}

// take adds the type with the given id to the unit, if it is a struct, union, enum or typedef. A
// function or a variable is added if it is a candidate.
func (c *converter) take(id uint32, t *btf.Type, p *part) {
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64, btf.KindTypedef:
		if c.anonymous(t) && !t.Kind.IsEnum() {
			return // reached through the type that contains it
		}
		node := c.shaper.Node(id)
		switch n := c.obj.Graph.Node(node); {
		case n.Kind == types.KindStub: // a declaration
			return
		case n.Kind == types.KindTypedef && n.Ref == 0:
			c.warnVoid(n, p)
		}
		c.items = append(c.items, node)
	case btf.KindFunc:
		c.takeFunction(id, t, p.source)
	case btf.KindVar:
		c.takeVariable(id, t, p.source)
	}
}

func (c *converter) anonymous(t *btf.Type) bool { return c.blob.TypeName(t) == "" }

// takeFunction adds a function if it has a symbol. gcc's BTF also has functions without one:
// inlined functions, and mere declarations.
// Rule: skipped: unknown parameters of a clone.
// Rule: BTF of a compiler: which functions are candidates.
func (c *converter) takeFunction(id uint32, t *btf.Type, source int) {
	if t.Vlen == btf.LinkageExtern || t.NameOff == 0 {
		return
	}
	s := c.symbols.function(c.blob.TypeName(t), t.Vlen == btf.LinkageStatic, source)
	if s == nil {
		return
	}
	var flags types.FuncFlags
	if !s.exact && s.clone {
		flags |= types.FuncUnlocated
	}
	if t.Vlen == btf.LinkageGlobal && s.exact && !s.strong {
		flags |= types.FuncWeak
	}
	if c.uncertain(t) {
		flags |= types.FuncUncertain
	}
	c.add(id, types.Node{Kind: types.KindFunc, Name: c.intern(t), Aux: t.Vlen, Size: uint32(flags),
		Ref: c.shaper.Node(t.SizeOrType)})
}

// takeVariable adds a variable if it has a symbol and a size. gcc's BTF also has mere declarations,
// variables in registers, and thread-local variables.
// Rule: BTF of a compiler: which variables are candidates.
func (c *converter) takeVariable(id uint32, t *btf.Type, source int) {
	f := c.opt.Features
	if t.Extra == btf.LinkageExtern || t.NameOff == 0 ||
		!f.Has(features.Var) && !f.Has(features.GlobalVar) {
		return
	}
	perCPU, ok := c.symbols.variable(c.blob.TypeName(t), t.Extra == btf.LinkageStatic, source)
	if !ok || !perCPU && !f.Has(features.GlobalVar) {
		return
	}
	size := c.size(t.SizeOrType)
	if size == 0 || size > 1<<32-1 {
		return
	}
	n := *c.obj.Graph.Node(c.shaper.Node(id))
	c.add(id, types.Node{Kind: n.Kind, Name: n.Name, Ref: n.Ref, Aux: n.Aux, Size: uint32(size),
		Flag: !perCPU})
}

func (c *converter) add(id uint32, n types.Node) {
	c.made[id] = c.obj.Graph.Add(n, nil)
	c.items = append(c.items, c.made[id])
}

// takeDeclTags adds the declaration tags on the unit's definitions. Like any other reference, a tag
// on a struct or union refers to the type by name. If the unit has several definitions with that
// name, the tag refers to the definition itself.
func (c *converter) takeDeclTags() {
	isDeclTag := func(t btf.Type) bool { return t.Kind == btf.KindDeclTag }
	if !c.opt.Features.Has(features.DeclTag) || !slices.ContainsFunc(c.blob.Types, isDeclTag) {
		return
	}
	g := c.obj.Graph
	several := c.severalDefinitions()
	for i := range c.blob.Types {
		t := &c.blob.Types[i]
		if !isDeclTag(*t) {
			continue
		}
		target := c.made[t.SizeOrType]
		switch on, _ := c.blob.ByID(t.SizeOrType); {
		case on.Kind.IsComposite():
			target = c.shaper.Node(t.SizeOrType)
			if n := g.Node(target); n.IsDefinition() && !several[tagOf(n)] {
				target = g.StubFor(n)
			}
		case on.Kind == btf.KindTypedef:
			target = c.shaper.Node(t.SizeOrType)
		}
		if target != 0 {
			c.items = append(c.items, g.Add(types.Node{Kind: types.KindDeclTag, Name: c.intern(t),
				Ref: target, Aux: t.Extra + 1, Flag: t.KFlag}, nil))
		}
	}
}

type tag struct {
	space types.Tag
	name  types.Str
}

func tagOf(n *types.Node) tag { return tag{types.TagOf(n.Kind), n.Name} }

// severalDefinitions returns the tags that have several definitions in the unit.
func (c *converter) severalDefinitions() map[tag]bool {
	first, several := map[tag]types.ID{}, map[tag]bool{}
	for _, id := range c.items {
		n := c.obj.Graph.Node(id)
		if !n.IsDefinition() {
			continue
		}
		if other, ok := first[tagOf(n)]; ok && other != id {
			several[tagOf(n)] = true
		}
		first[tagOf(n)] = id
	}
	return several
}

func (c *converter) intern(t *btf.Type) types.Str {
	return c.obj.Graph.Strs.Intern([]byte(c.blob.TypeName(t)))
}

// checkNames refuses definitions and typedefs with names that the kernel refuses.
func (c *converter) checkNames() error {
	id := c.shaper.Invalid(c.items)
	if id == 0 {
		return nil
	}
	g := c.obj.Graph
	return &unencodable{fmt.Errorf("type %.100q, or one of its members or enumerators, has a name "+
		"that the kernel refuses (--features=+skip_unencodable leaves such units out)",
		g.Strs.Bytes(g.Node(id).Name))}
}

// unencodable is the error for a correct blob that the kernel's BTF can't express.
type unencodable struct{ error }

// warnVoid warns of a typedef of void. gcc writes typedefs of vector types and nullptr_t that way.
func (c *converter) warnVoid(n *types.Node, p *part) {
	c.warnings = append(c.warnings, warning{p.number, fmt.Sprintf("%s: typedef %s is void in the "+
		"BTF; gcc writes void for vector types and nullptr_t, so the real type may be lost",
		c.file.Path, c.obj.Graph.Name(n))})
}

// warnTagOnVoid warns of a declaration tag that refers to void and is therefore left out.
func (c *converter) warnTagOnVoid(t *btf.Type, p *part) {
	c.warnings = append(c.warnings, warning{p.number, fmt.Sprintf("%s: declaration tag %q refers to "+
		"void in the BTF, so the tag is left out; gcc writes void in place of a variable whose type "+
		"is a vector or nullptr_t", c.file.Path, c.blob.TypeName(t))})
}
