package convert

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// environment is what the unit that is being converted declares, as far as it was read.
type environment struct {
	serial     uint32 // of the unit
	file       string
	clang      bool       // its producer is clang
	items      []types.ID // each once, see object.Unit
	seen       []stamp    // by node
	conflict   bool       // a tag is defined in several ways
	conflicted types.ID   // the stub of the first such tag
	candidates []candidate

	imported     map[*unit]bool
	imports      []*unit       // of imported, those still to be taken
	fromImports  []types.ID    // the items of imported, where references are pinned
	foreignNodes int           // that imported units of all environments have added, likewise
	recording    *declarations // of the imported unit that is walked over; else nil
}

// numberedUnit is the environment of the compilation unit of a number.
type numberedUnit struct {
	number int
	object.Unit
}

// item is a type as an environment holds it.
type item struct {
	id   types.ID // 0: nothing is encoded for it
	stub types.ID // for the definition of a tag; else 0
}

// stamp says in which unit a node was last an item; for a stub, in which unit its tag was last
// defined, and as what.
type stamp struct {
	serial uint32
	id     types.ID
}

// begin starts the environment of the unit that is loaded.
func (c *converter) begin(file string) {
	c.serial++
	c.items, c.elems = c.items[:0], c.elems[:0]
	c.conflict = false
	c.imports, c.fromImports = c.imports[:0], c.fromImports[:0]
	clear(c.imported)
	producer, _ := c.main.r.String(&c.main.r.Root, dwarf.Producer)
	c.clang = bytes.Contains(producer, []byte("clang"))
	c.file, c.candidates = file, c.candidates[:0]
}

// end adds the environment to the thread's units, under a number.
func (c *converter) end(number int) error {
	if err := c.main.r.Take(len(c.items)); err != nil {
		return err
	}
	c.lock()
	file := c.g.Strs.Intern([]byte(c.file))
	c.mu.Unlock()
	c.units = append(c.units, numberedUnit{number, object.Unit{File: file, Count: 1,
		Items: slices.Clone(c.items)}})
	return nil
}

// addItem adds a type to the environment, once. It notes when a tag is defined otherwise than
// before.
func (c *converter) addItem(i item) {
	if i.id == 0 {
		return
	}
	if c.recording != nil {
		c.recording.items = append(c.recording.items, i)
	}
	if i.stub != 0 {
		if c.stamp(i.stub, i.id) { // the first definition of the tag
			c.items = append(c.items, i.id)
			return
		}
		if c.seen[i.stub].id == i.id {
			return
		}
		if !c.conflict {
			c.conflict, c.conflicted = true, i.stub
		}
	}
	if c.stamp(i.id, i.id) {
		c.items = append(c.items, i.id)
	}
}

// stamp stamps a node with as, unless the unit has stamped it before.
func (c *converter) stamp(node, as types.ID) bool {
	if int(node) >= len(c.seen) {
		c.seen = append(c.seen, make([]stamp, int(node)+int(node)/2-len(c.seen)+64)...)
	}
	s := &c.seen[node]
	if s.serial == c.serial {
		return false
	}
	*s = stamp{c.serial, as}
	return true
}
