package compilerbtf

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// normalise changes the types of c.blob to the types that DWARF gives.
//
//   - The index type of arrays is C's int. gcc writes "long unsigned int", or void for extern T
//     a[]; clang writes a special type.
//   - An INT, even a _BitInt, has as many bits as its bytes hold. INTs aren't marked as characters.
//   - A base type that BTF can't express, such as complex long double, becomes the INT
//     __SANITIZED_FAKE_INT__.
//   - A struct without bitfields has no kind_flag.
//   - An enum of more than 4 bytes is an ENUM64; any other is an ENUM.
//   - Kinds that the features leave out are removed.
//   - A declaration tag on void is moved to an INT, where takeDeclTags drops it. gcc writes such
//     tags for variables whose type BTF can't express.
//
// An enum that is only declared has no size in gcc's BTF, and gets none here, like any declaration.
// Rule: BTF of a compiler: what is normalised.
func (c *converter) normalise(p *part) {
	b := &c.blob
	index := c.addInt()
	for i := range b.Arrays {
		b.Arrays[i].Index = index
	}
	for i := range b.Types {
		switch t := &b.Types[i]; t.Kind {
		case btf.KindInt:
			c.number(i, t.Extra>>24)
		case btf.KindFloat:
			c.float(i)
		case btf.KindStruct, btf.KindUnion:
			c.aggregate(t)
		case btf.KindEnum, btf.KindEnum64:
			c.enum(t)
		case btf.KindTypeTag:
			c.typeTags = true
		case btf.KindDeclTag:
			if t.SizeOrType == 0 {
				t.SizeOrType = index
				if c.opt.Features.Has(features.DeclTag) {
					c.warnTagOnVoid(t, p)
				}
			}
		}
	}
	if c.typeTags && !c.opt.Features.Has(features.TypeTag) {
		c.dropTypeTags()
	}
	if c.opt.KABIPrefix != "" {
		c.shortenNames()
	}
}

// addInt adds C's int, the type that indexes arrays.
func (c *converter) addInt() uint32 {
	b := &c.blob
	id := b.EndID()
	b.Types = append(b.Types, btf.Type{Kind: btf.KindInt, NameOff: c.own, SizeOrType: 4,
		Extra: btf.IntSigned<<24 | 32})
	return id
}

// intName, fakeInt and the option KABIPrefix are appended to the blob's strings, in that order.
const intName = "int"

// fakeInt is the name under which pahole 1.32 encodes base types that BTF's INT can't express.
const fakeInt = "__SANITIZED_FAKE_INT__"

// number turns type i into an INT of the same size, or of 4 bytes if BTF has no INT of that size.
func (c *converter) number(i int, encoding uint32) {
	t := &c.blob.Types[i]
	if encoding&btf.IntBool != 0 {
		encoding = btf.IntBool
	}
	t.Kind = btf.KindInt
	switch encoding &= btf.IntSigned | btf.IntBool; t.SizeOrType {
	case 1, 2, 4, 8, 16:
	default:
		c.fakes[i], t.SizeOrType = t.SizeOrType, 4
		t.NameOff = c.own + uint32(len(intName)+1)
	}
	t.Extra = encoding<<24 | t.SizeOrType*8
}

// float turns type i into an INT if BTF has no FLOAT of that size, or if the feature float is off.
func (c *converter) float(i int) {
	switch c.blob.Types[i].SizeOrType {
	case 2, 4, 8, 12, 16:
		if c.opt.Features.Has(features.Float) {
			return
		}
	}
	c.number(i, 0)
}

func (c *converter) aggregate(t *btf.Type) {
	if !t.KFlag {
		return
	}
	for _, m := range c.blob.MembersOf(t) {
		if m.Offset>>24 != 0 {
			return
		}
	}
	t.KFlag = false
}

func (c *converter) enum(t *btf.Type) {
	if !c.opt.Features.Has(features.Enum64) {
		t.Kind, t.KFlag = btf.KindEnum, false
		return
	}
	if t.Kind = btf.KindEnum; t.SizeOrType > 4 {
		t.Kind = btf.KindEnum64
	}
}

// dropTypeTags replaces references to type tags with references to the types that they tag.
func (c *converter) dropTypeTags() {
	b := &c.blob
	for i := range b.Types {
		for ref := range b.Refs(&b.Types[i]) {
			// A chain with more tags than there are types is a cycle. Shaper.Load reports it later.
			for range b.Types {
				t, _ := b.ByID(*ref)
				if t == nil || t.Kind != btf.KindTypeTag {
					break
				}
				*ref = t.SizeOrType
			}
		}
	}
}

// shortenNames cuts each name that begins with the option KABIPrefix down to that prefix.
func (c *converter) shortenNames() {
	b, prefix := &c.blob, c.opt.KABIPrefix
	at := c.own + uint32(len(intName)+1+len(fakeInt)+1)
	short := func(off *uint32) {
		if *off < c.own && strings.HasPrefix(b.Strings[*off:], prefix) {
			*off = at
		}
	}
	for i := range b.Types {
		short(&b.Types[i].NameOff)
	}
	for i := range b.Members {
		short(&b.Members[i].NameOff)
	}
	for i := range b.Params {
		short(&b.Params[i].NameOff)
	}
	for i := range b.Enums {
		short(&b.Enums[i].NameOff)
	}
}
