package convert

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// environment holds the declarations that have been read so far in the current unit.
type environment struct {
	serial     uint32 // differs for each unit
	file       string
	clang      bool       // the unit's producer is clang
	items      []types.ID // without duplicates, see object.Unit
	seen       []stamp    // indexed by node
	nodes      int        // about how many nodes the graph will have
	conflict   bool       // a tag is defined in several ways
	conflicted types.ID   // the stub of the first such tag
	candidates []candidate

	imported     map[*unit]bool
	imports      []*unit       // imported units still to be read
	fromImports  []types.ID    // items from imported units, if references are pinned
	foreignNodes int           // nodes that imported units added, in all environments, if pinned
	recording    *declarations // of the imported unit that is being walked, or nil
}

type numberedUnit struct {
	number int
	object.Unit
}

type item struct {
	id   types.ID // 0: nothing is encoded for it
	stub types.ID // for the definition of a tag, the tag's stub; otherwise 0
}

// stamp says in which unit a node was last an item. For a stub, it says in which unit the stub's
// tag was last defined, and the id of that definition.
type stamp struct {
	serial uint32
	id     types.ID
}

func (c *converter) begin(file string) {
	producer, _ := c.main.r.String(&c.main.r.Root, dwarf.Producer)
	if c.sites != nil {
		c.sites.begin()
	}
	c.env.begin(file, bytes.Contains(producer, []byte("clang")))
	c.scratch.elems = c.scratch.elems[:0]
}

func (env *environment) begin(file string, clang bool) {
	env.serial++
	env.file, env.clang, env.conflict = file, clang, false
	env.items, env.candidates = env.items[:0], env.candidates[:0]
	env.imports, env.fromImports = env.imports[:0], env.fromImports[:0]
	clear(env.imported)
}

func (c *converter) end(number int) error {
	if err := c.main.r.Take(len(c.env.items)); err != nil {
		return err
	}
	c.store.mu.Lock()
	file := c.store.g.Strs.Intern([]byte(c.env.file))
	c.store.mu.Unlock()
	if c.sites != nil {
		c.sites.end(number)
	}
	c.out.units = append(c.out.units, numberedUnit{number, object.Unit{File: file, Count: 1,
		Items: slices.Clone(c.env.items)}})
	return nil
}

// add adds a type to the environment, unless it is already there. If the unit has already defined
// the same tag in a different way, add notes the conflict.
func (env *environment) add(i item) {
	if i.id == 0 {
		return
	}
	if env.recording != nil {
		env.recording.items = append(env.recording.items, i)
	}
	if i.stub != 0 {
		if env.stamp(i.stub, i.id) { // the first definition of the tag
			env.items = append(env.items, i.id)
			return
		}
		if env.seen[i.stub].id == i.id {
			return
		}
		if !env.conflict {
			env.conflict, env.conflicted = true, i.stub
		}
	}
	if env.stamp(i.id, i.id) {
		env.items = append(env.items, i.id)
	}
}

// stamp stamps a node with an id. If this unit has already stamped the node, stamp returns false.
func (env *environment) stamp(node, id types.ID) bool {
	if int(node) >= len(env.seen) {
		larger := pages.Make[stamp](max(env.nodes, int(node)+int(node)/2+64))
		copy(larger, env.seen)
		env.seen = larger
	}
	s := &env.seen[node]
	if s.serial == env.serial {
		return false
	}
	*s = stamp{env.serial, id}
	return true
}
