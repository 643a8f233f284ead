package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// declare returns o without the definitions that its functions don't need. b, on which o will be
// based, is the BTF of a module on a distilled base. A distilled base has only the names and sizes
// of types, so definitions can't be compared with it by content.
//   - If b or its base has one definition of the tag, and it has the same size, that one is meant.
//     A tag is looked up in the same way when the module is loaded.
//   - If they have none, a forward declaration is enough, unless another type embeds the type, or
//     it is the type of a parameter or of a result.
//
// Rule: sites of inlined functions: structs that are only declared on a distilled base.
func declare(o *object.Object, on base.Base, b *btf.Blob) *object.Object {
	d := declarer{g: o.Graph, on: on, b: b, tags: map[types.Hash]*declaredTag{},
		seen: make([]bool, len(o.Graph.Nodes)), complete: make([]bool, len(o.Graph.Nodes))}
	for u := range o.Units {
		for _, id := range o.Units[u].Items {
			if n := d.g.Node(id); n.IsDefinition() {
				t := d.tag(types.TagOf(n.Kind), n.Name)
				t.definitions = append(t.definitions, id)
			}
		}
	}
	for i := range d.g.Nodes {
		if n := &d.g.Nodes[i]; n.IsPinned() {
			d.tag(n.Tag(), n.Name).pinned = true
		}
	}
	for _, t := range d.tags {
		d.lookUp(t)
	}
	for u := range o.Units {
		for _, id := range o.Units[u].Items {
			if n := d.g.Node(id); n.Kind == types.KindFunc {
				d.reach(n.Ref, true)
			}
		}
	}
	declared := *o
	declared.Units = without(d.g, o.Units, func(n *types.Node) bool {
		return n.IsDefinition() && !d.tag(types.TagOf(n.Kind), n.Name).kept
	})
	return &declared
}

type declarer struct {
	g    *types.Graph
	on   base.Base
	b    *btf.Blob
	tags map[types.Hash]*declaredTag // by stub
	// By node: an inlined function leads to it; the definition of its tag is needed.
	seen, complete []bool
	work           []types.ID
}

type declaredTag struct {
	stub        types.Hash
	definitions []types.ID // of units, maybe with duplicates
	pinned      bool       // references distinguish these definitions
	kept        bool       // the definitions are written if an inlined function leads to them
	based       bool       // the base has the definition
}

func (d *declarer) tag(tag types.Tag, name types.Str) *declaredTag {
	stub := types.HashStub(tag, d.g.Strs.Hash(name))
	t := d.tags[stub]
	if t == nil {
		t = &declaredTag{stub: stub}
		d.tags[stub] = t
	}
	return t
}

// lookUp finds out what the base has of a tag.
func (d *declarer) lookUp(t *declaredTag) {
	definition, _, count := d.on.Tag(t.stub)
	if definition == 0 && count < 2 && !t.pinned {
		return
	}
	at, _ := d.b.ByID(definition)
	t.based = at != nil && count == 1 && !t.pinned &&
		!slices.ContainsFunc(t.definitions, func(id types.ID) bool {
			return d.g.Node(id).Size != at.SizeOrType
		})
	t.kept = !t.based
}

// reach visits a type and all types to which it leads. complete is set if the type's size must be
// known.
func (d *declarer) reach(id types.ID, complete bool) {
	d.add(id, complete)
	for len(d.work) > 0 {
		id := d.work[len(d.work)-1]
		d.work = d.work[:len(d.work)-1]
		n := d.g.Node(id)
		switch complete := d.complete[id]; n.Kind {
		case types.KindStub:
			if n.Tag() == types.TagTypedef {
				d.add(n.Ref, complete)
				continue
			}
			t := d.tag(n.Tag(), n.Name)
			if t.based || !complete && !t.kept {
				continue
			}
			t.kept = true
			for _, id := range t.definitions {
				d.addAll(id, true)
			}
		case types.KindPtr:
			d.add(n.Ref, false)
		case types.KindConst, types.KindVolatile, types.KindRestrict, types.KindTypedef,
			types.KindTypeTag:
			d.add(n.Ref, complete)
		default:
			d.addAll(id, true)
		}
	}
}

func (d *declarer) addAll(id types.ID, complete bool) {
	for _, r := range d.g.Refs(id, nil) {
		d.add(r, complete)
	}
}

func (d *declarer) add(id types.ID, complete bool) {
	if d.seen[id] && (d.complete[id] || !complete) {
		return
	}
	d.seen[id], d.complete[id] = true, d.complete[id] || complete
	d.work = append(d.work, id)
}
