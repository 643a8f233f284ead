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
	producer, _ := c.main.r.String(&c.main.r.Root, dwarf.Producer)
	c.env.begin(file, bytes.Contains(producer, []byte("clang")))
	c.scratch.elems = c.scratch.elems[:0]
}

// begin starts the environment of the next unit.
func (env *environment) begin(file string, clang bool) {
	env.serial++
	env.file, env.clang, env.conflict = file, clang, false
	env.items, env.candidates = env.items[:0], env.candidates[:0]
	env.imports, env.fromImports = env.imports[:0], env.fromImports[:0]
	clear(env.imported)
}

// end adds the environment to the thread's units, under a number.
func (c *converter) end(number int) error {
	if err := c.main.r.Take(len(c.env.items)); err != nil {
		return err
	}
	c.store.lock()
	file := c.store.g.Strs.Intern([]byte(c.env.file))
	c.store.mu.Unlock()
	c.out.units = append(c.out.units, numberedUnit{number, object.Unit{File: file, Count: 1,
		Items: slices.Clone(c.env.items)}})
	return nil
}

// add adds a type to the environment, once. It notes when a tag is defined otherwise than
// before.
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

// stamp stamps a node with as, unless the unit has stamped it before.
func (env *environment) stamp(node, as types.ID) bool {
	if int(node) >= len(env.seen) {
		env.seen = append(env.seen, make([]stamp, int(node)+int(node)/2-len(env.seen)+64)...)
	}
	s := &env.seen[node]
	if s.serial == env.serial {
		return false
	}
	*s = stamp{env.serial, as}
	return true
}
