package convert

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// unitContents holds the declarations that have been read so far in the current unit.
type unitContents struct {
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
	foreignNodes int           // nodes that imported units added, in all units, if pinned
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
	c.current.begin(file, bytes.Contains(producer, []byte("clang")))
	c.scratch.elems = c.scratch.elems[:0]
}

func (current *unitContents) begin(file string, clang bool) {
	current.serial++
	current.file, current.clang, current.conflict = file, clang, false
	current.items, current.candidates = current.items[:0], current.candidates[:0]
	current.imports, current.fromImports = current.imports[:0], current.fromImports[:0]
	clear(current.imported)
}

func (c *converter) end(number int) error {
	if err := c.main.r.Take(len(c.current.items)); err != nil {
		return err
	}
	c.store.mu.Lock()
	file := c.store.g.Strs.Intern([]byte(c.current.file))
	c.store.mu.Unlock()
	if c.sites != nil {
		c.sites.end(number)
	}
	c.out.units = append(c.out.units, numberedUnit{number, object.Unit{File: file, Count: 1,
		Items: slices.Clone(c.current.items)}})
	return nil
}

// add adds a type to the current unit, unless it is already there. If the unit has already defined
// the same tag in a different way, add notes the conflict.
func (current *unitContents) add(i item) {
	if i.id == 0 {
		return
	}
	if current.recording != nil {
		current.recording.items = append(current.recording.items, i)
	}
	if i.stub != 0 {
		if current.stamp(i.stub, i.id) { // the first definition of the tag
			current.items = append(current.items, i.id)
			return
		}
		if current.seen[i.stub].id == i.id {
			return
		}
		if !current.conflict {
			current.conflict, current.conflicted = true, i.stub
		}
	}
	if current.stamp(i.id, i.id) {
		current.items = append(current.items, i.id)
	}
}

// stamp stamps a node with an id. If this unit has already stamped the node, stamp returns false.
func (current *unitContents) stamp(node, id types.ID) bool {
	if int(node) >= len(current.seen) {
		larger := pages.Make[stamp](max(current.nodes, int(node)+int(node)/2+64))
		copy(larger, current.seen)
		current.seen = larger
	}
	s := &current.seen[node]
	if s.serial == current.serial {
		return false
	}
	*s = stamp{current.serial, id}
	return true
}
