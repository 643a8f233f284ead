// Package linktest makes units by hand, for tests of the link's stages.
package linktest

import (
	"debug/elf"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Builder builds units that share one graph.
type Builder struct{ *object.Object }

// New returns a builder without units.
func New() *Builder {
	return &Builder{object.New(object.Target{AddrSize: 8, Machine: uint16(elf.EM_X86_64)},
		features.Default())}
}

// Unit begins a unit that holds the given items, for a source file with this base name. It returns
// the unit's index.
func (b *Builder) Unit(file string, count uint32, items ...types.ID) int {
	b.Units = append(b.Units, object.Unit{File: b.Str(file), Count: count, Items: items})
	return len(b.Units) - 1
}

// Last returns the unit that was begun last.
func (b *Builder) Last() *object.Unit { return &b.Units[len(b.Units)-1] }

// Hold adds an item to the last unit.
func (b *Builder) Hold(id types.ID) types.ID {
	if u := b.Last(); !slices.Contains(u.Items, id) {
		u.Items = append(u.Items, id)
	}
	return id
}

// Survey returns the survey of the units.
func (b *Builder) Survey() *survey.Survey {
	return survey.New(b.Graph, b.Units)
}

// Str interns a name.
func (b *Builder) Str(s string) types.Str { return b.Graph.Strs.Intern([]byte(s)) }

// Add adds a node. No unit holds it yet.
func (b *Builder) Add(n types.Node, elems ...types.Elem) types.ID { return b.Graph.Add(n, elems) }

// Int adds a signed INT of 4 bytes.
func (b *Builder) Int(name string) types.ID {
	return b.Add(types.Node{Kind: types.KindInt, Name: b.Str(name), Size: 4, Aux: 1<<24 | 32})
}

// Ref adds a PTR, TYPEDEF, CONST or the like.
func (b *Builder) Ref(kind types.Kind, name string, to types.ID) types.ID {
	return b.Add(types.Node{Kind: kind, Name: b.Str(name), Ref: to})
}

// Ptr adds a PTR.
func (b *Builder) Ptr(to types.ID) types.ID { return b.Ref(types.KindPtr, "", to) }

// Const adds a CONST.
func (b *Builder) Const(to types.ID) types.ID { return b.Ref(types.KindConst, "", to) }

// Stub adds the stub of a struct.
func (b *Builder) Stub(tag string) types.ID { return b.Graph.Stub(types.TagStruct, b.Str(tag)) }

// Struct adds the definition of a struct whose members m0, m1 … take 8 bytes each.
func (b *Builder) Struct(tag string, members ...types.ID) types.ID {
	n := types.Node{Kind: types.KindStruct, Name: b.Str(tag), Size: uint32(8 * len(members))}
	return b.Add(n, b.elems("m", 64, members)...)
}

// Proto adds a FUNC_PROTO with the parameters p0, p1 …
func (b *Builder) Proto(ret types.ID, params ...types.ID) types.ID {
	return b.Add(types.Node{Kind: types.KindFuncProto, Ref: ret}, b.elems("p", 0, params)...)
}

func (b *Builder) elems(name string, step int, refs []types.ID) []types.Elem {
	var elems []types.Elem
	for i, r := range refs {
		elems = append(elems, types.Elem{Name: b.Str(fmt.Sprintf("%s%d", name, i)), Ref: r,
			Val: uint64(step * i)})
	}
	return elems
}

// Fn adds a FUNC, which the last unit holds.
func (b *Builder) Fn(name string, linkage uint32, flags types.FuncFlags,
	proto types.ID) types.ID {
	return b.Hold(b.Add(types.Node{Kind: types.KindFunc, Name: b.Str(name), Size: uint32(flags),
		Ref: proto, Aux: linkage}))
}

// Var adds a VAR of size bytes, which the last unit holds.
func (b *Builder) Var(name string, linkage, size uint32, typ types.ID) types.ID {
	return b.Hold(b.Add(types.Node{Kind: types.KindVar, Name: b.Str(name), Size: size, Ref: typ,
		Aux: linkage}))
}

// DeclTag adds a DECL_TAG, which the last unit holds. See base.Base.HasDeclTag about component.
func (b *Builder) DeclTag(value string, target types.ID, component uint32) types.ID {
	return b.Hold(b.Add(types.Node{Kind: types.KindDeclTag, Name: b.Str(value), Ref: target,
		Aux: component}))
}
