package minimal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

// Options say what is kept, and how it is written.
type Options struct {
	// Hooks says to keep what programs name: the functions that they hook or call, and other symbols.
	Hooks bool
	// Flat says to put the types of modules into the BTF of vmlinux, because libbpf's btf_custom_path
	// names only one file.
	Flat bool
}

// Result is the minimal BTF of a kernel.
type Result struct {
	Vmlinux []byte
	// Modules maps the name of each module to its split BTF. Modules of which nothing is kept are
	// left out.
	Modules map[string][]byte
	Types   int // the number of types in Vmlinux and Modules
}

// Build returns what programs need from a kernel's BTF. The kernel may lack some of it.
func Build(k *core.Kernel, list []*needs.Needs, opt Options) (*Result, error) {
	indexed := k.Index(needs.Names(list...))
	b := &build{vmlinux: newMarks(k.Vmlinux, nil), of: map[*core.BTF]*marks{}, opt: opt}
	b.of[k.Vmlinux] = b.vmlinux
	for _, m := range k.Modules {
		b.of[m.BTF] = newMarks(m.BTF, b.vmlinux)
	}
	for _, n := range list {
		if err := b.mark(indexed, n); err != nil {
			return nil, err
		}
	}
	if b.vmlinux.any && k.Vmlinux.PointerSize() == 4 {
		b.keepLong()
	}
	for round := 0; ; round++ {
		result, small, err := b.write(k)
		if err != nil {
			return nil, err
		}
		more, err := b.keepMore(indexed, small.Index(needs.Names(list...)), round == maxRounds)
		if err != nil || !more {
			return result, err
		}
	}
}

// maxRounds is the number of rounds after which Build keeps all candidates of all relocations.
const maxRounds = 8

// build holds the state of making the minimal BTF of one kernel.
type build struct {
	vmlinux *marks
	of      map[*core.BTF]*marks
	opt     Options
	asked   []*question
}

// mark keeps what the programs of one file need.
func (b *build) mark(k *core.Index, n *needs.Needs) error {
	done := map[core.Relocation]bool{}
	for _, p := range n.Programs {
		for _, r := range p.Relocations {
			if done[r] {
				continue
			}
			done[r] = true
			local, err := core.Parse(n.Local, r)
			if err != nil {
				return err
			}
			q := &question{spec: local, memory: r.Memory, answer: k.Resolve(local, r.Memory)}
			b.asked = append(b.asked, q)
			for _, s := range q.answer.Matches {
				b.of[s.BTF].spec(s)
			}
		}
		if !b.opt.Hooks {
			continue
		}
		for _, s := range p.Symbols {
			if s.Kind == needs.StructOps || s.Kind == needs.Member {
				b.structOps(k, n, s)
				continue
			}
			for _, c := range s.Find(k) {
				b.of[c.BTF].deep(c.ID)
				if module := k.ModuleOf(c); s.Module() != "" && module != "vmlinux" {
					b.of[c.BTF].named[c.ID] = module
				}
			}
		}
	}
	return nil
}

// keepLong keeps a base type "long", from whose size readers infer the size of a pointer.
func (b *build) keepLong() {
	for i := range b.vmlinux.Types {
		if t := &b.vmlinux.Types[i]; t.Kind == btf.KindInt && t.SizeOrType == 4 &&
			slices.Contains(strings.Fields(b.vmlinux.TypeName(t)), "long") {
			b.vmlinux.shallow(b.vmlinux.StartID + uint32(i))
			return
		}
	}
}

// write links the kept types of vmlinux, and then the kept types of each module against this
// minimal BTF of vmlinux.
func (b *build) write(k *core.Kernel) (*Result, *core.Kernel, error) {
	result := &Result{Modules: map[string][]byte{}}
	small := &core.Kernel{}
	c := newCopier(nil, k.Vmlinux)
	c.copy(b.vmlinux)
	c.tag(b.vmlinux)
	if b.opt.Flat {
		for _, m := range k.Modules {
			c.strings = map[uint32]uint32{}
			c.copy(b.of[m.BTF])
			c.tag(b.of[m.BTF])
		}
	}
	vmlinux, err := c.link(nil)
	if err == nil {
		small.Vmlinux, err = core.NewBTF(vmlinux.blob, nil)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("minimal BTF: %w", err)
	}
	result.Vmlinux, result.Types = vmlinux.data, vmlinux.types
	if b.opt.Flat {
		return result, small, nil
	}
	for _, m := range k.Modules {
		marks := b.of[m.BTF]
		if !marks.any {
			continue
		}
		module := newCopier(c, m.BTF)
		module.copy(marks)
		linked, err := module.link(vmlinux.blob)
		var checked *core.BTF
		if err == nil {
			checked, err = core.NewBTF(linked.blob, small.Vmlinux)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("minimal BTF of %s: %w", m.Name, err)
		}
		small.Modules = append(small.Modules, core.Module{Name: m.Name, BTF: checked})
		result.Modules[m.Name] = linked.data
		result.Types += linked.types
	}
	return result, small, nil
}

// copier copies the kept types of a blob into a smaller blob.
type copier struct {
	*btf.Builder
	ids     map[uint32]uint32 // ids of the copies, by id
	strings map[uint32]uint32 // offsets of the copies, by offset in the current blob
}

// newCopier begins a blob that is based on the blob of base, unless base is nil.
func newCopier(base *copier, from *core.BTF) *copier {
	c := &copier{ids: map[uint32]uint32{}, strings: map[uint32]uint32{}}
	var below *btf.Blob
	if base != nil {
		below = base.Builder.Finish()
		for id, copied := range base.ids {
			c.ids[id] = copied
		}
	}
	c.Builder = btf.NewBuilder(from.Order, below, nil)
	return c
}

// copy adds the kept types. References to types that aren't kept become void.
func (c *copier) copy(m *marks) {
	next := c.NextID()
	for i, kept := range m.types {
		if kept {
			c.ids[m.StartID+uint32(i)] = next
			next++
		}
	}
	for i, kept := range m.types {
		if kept {
			c.add(m, &m.Types[i])
		}
	}
}

// tag adds the declaration tags that say which functions and typedefs are from a module.
func (c *copier) tag(m *marks) {
	for _, id := range slices.Sorted(maps.Keys(m.named)) {
		c.DeclTag(core.ModuleTag+m.named[id], c.ids[id], 1<<32-1)
	}
}

func (c *copier) add(m *marks, t *btf.Type) {
	name := func(off uint32) uint32 {
		at, ok := c.strings[off]
		if !ok {
			text, _ := m.Name(off) // every offset that is copied has already been read
			at = c.Name(text)
			c.strings[off] = at
		}
		return at
	}
	ref := func(id uint32) uint32 { return c.ids[id] }
	if m.longChain(t) {
		ref = func(id uint32) uint32 {
			end, _, _ := m.Skip(id)
			return c.ids[end]
		}
	}
	if !t.Kind.IsComposite() {
		c.Blob.Copy(m.Blob, t, name, ref)
		return
	}
	x := *t
	x.NameOff, x.First, x.Vlen = name(t.NameOff), uint32(len(c.Blob.Members)), 0
	for i, member := range m.MembersOf(t) {
		if m.members[t.First+uint32(i)] {
			member.NameOff, member.Type = name(member.NameOff), ref(member.Type)
			c.Blob.Members = append(c.Blob.Members, member)
			x.Vlen++
		}
	}
	c.Blob.Types = append(c.Blob.Types, x)
}

// linked is a blob in canonical order, except that types of one name have the kernel's order.
type linked struct {
	data  []byte
	blob  *btf.Blob
	types int
}

// link puts the blob into this order. on is the blob's base, which link has already put into this
// order, or nil.
func (c *copier) link(on *btf.Blob) (*linked, error) {
	o, nodes, err := object.FromBlob(object.Target{}, c.Finish())
	if err != nil {
		return nil, err
	}
	var opt link.Options
	if on != nil {
		if opt.Base, err = base.Parse(on); err != nil {
			return nil, err
		}
	}
	result, err := link.WithUnits(o, opt)
	if err != nil {
		return nil, err
	}
	blob, err := btf.Parse(result.BTF, on)
	if err != nil {
		return nil, err
	}
	first := make([]uint32, len(blob.Types))
	for i := range c.Blob.Types {
		id := c.Blob.StartID + uint32(i)
		at := int(result.ID(len(o.Units)-1, nodes[id])) - int(blob.StartID)
		// A declaration may have become a definition, which is a candidate only for definitions.
		if at >= 0 && first[at] == 0 && blob.Types[at].Kind == c.Blob.Types[i].Kind {
			first[at] = id
		}
	}
	data := result.BTF
	if kernelOrder(blob, first) {
		if data, err = btf.Encode(blob, blob.Header.Form()); err != nil {
			return nil, err
		}
	}
	return &linked{data, blob, len(blob.Types)}, nil
}
