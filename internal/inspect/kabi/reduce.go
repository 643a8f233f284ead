package kabi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Kernel is the BTF in which symbols are looked up.
type Kernel struct {
	side    diff.Side
	modules map[*btf.Blob]string // names of modules; nil if it isn't known which blob is a module
}

// FromSide makes a Kernel from blobs that are not known to be a kernel and its modules.
func FromSide(side diff.Side) Kernel { return Kernel{side: side} }

// FromSet makes a Kernel from a kernel with its modules.
func FromSet(s diff.Set) Kernel {
	k := Kernel{s.Blobs(), map[*btf.Blob]string{}}
	for name, b := range s.Modules {
		k.modules[b] = name
	}
	return k
}

// blobs returns all blobs, bases first.
func (k Kernel) blobs() []*btf.Blob {
	var list []*btf.Blob
	for _, b := range k.side {
		at := len(list)
		for ; b != nil && !slices.Contains(list, b); b = b.Base {
			list = slices.Insert(list, at, b)
		}
	}
	return list
}

// kept are the types of a blob that are kept.
type kept struct {
	*btf.Blob
	types  []byte // by index in Types: notKept, asWhole or asDeclaration
	copies []uint32
	base   *kept
}

const (
	notKept = iota
	asWhole
	asDeclaration // the definition is left out
)

// owner returns the blob that has the type with this id, or nil for void.
func (k *kept) owner(id uint32) *kept {
	for k != nil && id < k.StartID {
		k = k.base
	}
	if k == nil || id-k.StartID >= uint32(len(k.Types)) {
		return nil
	}
	return k
}

// Reduce returns a blob without a base that has only the functions and variables with the names of
// the symbols, and the types to which they lead. Of a struct or union for which declare returns
// true, it has only a declaration. The result depends only on the content, not on the order of
// types or modules. It is nil if no symbol has BTF.
// Rule: kABI: types that the symbols reach.
func (k Kernel) Reduce(symbols []Symbol, declare func(title string) bool) (*btf.Blob, error) {
	r := reducer{Kernel: k, declare: declare}
	of := map[*btf.Blob]*kept{}
	for _, b := range k.blobs() {
		if err := b.CheckNames(); err != nil {
			return nil, err
		}
		x := &kept{Blob: b, types: make([]byte, len(b.Types)), base: of[b.Base],
			copies: make([]uint32, len(b.Types))}
		of[b] = x
		r.blobs = append(r.blobs, x)
	}
	if !r.keepSymbols(symbols) {
		return nil, nil
	}
	blob, err := r.copy()
	if err != nil {
		return nil, fmt.Errorf("the types that the symbols reach: %w", err)
	}
	return blob, nil
}

type reducer struct {
	Kernel
	blobs   []*kept
	declare func(title string) bool
}

// keepSymbols keeps the functions and variables of the symbols. If some of the functions with one
// name are global, those that aren't are other functions. It returns false if there are none.
func (r *reducer) keepSymbols(symbols []Symbol) bool {
	wanted := map[string][]string{} // the modules of the symbols with this name
	for _, s := range symbols {
		wanted[s.Name] = append(wanted[s.Name], s.Module)
	}
	type found struct {
		in *kept
		id uint32
	}
	global, other := map[string][]found{}, map[string][]found{}
	for _, b := range r.blobs {
		for i := range b.Types {
			t := &b.Types[i]
			if t.Kind != btf.KindFunc && t.Kind != btf.KindVar {
				continue
			}
			name := b.TypeName(t)
			modules, ok := wanted[name]
			if !ok || !r.exportedBy(b.Blob, modules) {
				continue
			}
			to := other
			if t.Kind == btf.KindFunc && t.Vlen == btf.LinkageGlobal {
				to = global
			}
			to[name] = append(to[name], found{b, b.StartID + uint32(i)})
		}
	}
	for name := range wanted {
		list := global[name]
		if len(list) == 0 {
			list = other[name]
		}
		for _, f := range list {
			r.keep(f.in, f.id)
		}
	}
	return len(global)+len(other) > 0
}

// exportedBy reports whether a symbol in one of the modules can be in this blob.
func (r *reducer) exportedBy(b *btf.Blob, modules []string) bool {
	if r.modules == nil || slices.Contains(modules, "") {
		return true
	}
	name, ok := r.modules[b]
	if !ok {
		name = "vmlinux"
	}
	return slices.Contains(modules, name)
}

// keep keeps a type and all types to which it leads.
func (r *reducer) keep(from *kept, id uint32) {
	type place struct {
		in *kept
		id uint32
	}
	for todo := []place{{from, id}}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		in := p.in.owner(p.id)
		if in == nil || in.types[p.id-in.StartID] != notKept {
			continue
		}
		t := &in.Types[p.id-in.StartID]
		if t.Kind.IsComposite() && t.NameOff != 0 && r.declare(title(in.Blob, t)) {
			in.types[p.id-in.StartID] = asDeclaration
			continue
		}
		in.types[p.id-in.StartID] = asWhole
		if t.Kind == btf.KindArray { // copy replaces the type of the indices
			todo = append(todo, place{in, in.ArrayOf(t).Elem})
			continue
		}
		for ref := range in.Refs(t) {
			todo = append(todo, place{in, *ref})
		}
	}
}

// title is a type's kind and name, as in reports: "struct foo".
func title(b *btf.Blob, t *btf.Type) string {
	return strings.ToLower(t.Kind.String()) + " " + b.TypeName(t)
}

// copy copies what is kept into one blob, and links it: types that several modules have become one,
// and the order becomes canonical. The indices of all arrays get the same type, because it
// depends on the compiler, and has no meaning in C.
func (r *reducer) copy() (*btf.Blob, error) {
	r.keepLong()
	to := btf.NewBuilder(r.side[0].Order, nil, nil)
	next := to.NextID()
	for _, b := range r.blobs {
		for i, how := range b.types {
			if how != notKept {
				b.copies[i] = next
				next++
			}
		}
	}
	for _, b := range r.blobs {
		name := func(off uint32) uint32 {
			text, _ := b.Name(off) // a name that can't be read becomes ""
			return to.Name(text)
		}
		ref := func(id uint32) uint32 {
			if in := b.owner(id); in != nil {
				return in.copies[id-in.StartID]
			}
			return 0
		}
		for i, how := range b.types {
			switch t := b.Types[i]; how {
			case asWhole:
				switch t.Kind { // what is exported is global, even if the BTF says otherwise
				case btf.KindFunc:
					t.Vlen = btf.LinkageGlobal
				case btf.KindVar:
					t.Extra = btf.LinkageGlobal
				}
				to.Blob.Copy(b.Blob, &t, name, ref)
			case asDeclaration:
				to.Fwd(b.TypeName(&t), t.Kind == btf.KindUnion)
			}
		}
	}
	if len(to.Blob.Arrays) > 0 {
		index := to.Int(btftext.Index, 4, 0, 32)
		for i := range to.Blob.Arrays {
			to.Blob.Arrays[i].Index = index
		}
	}
	o, err := object.FromBTF(object.Target{}, to.Finish())
	if err != nil {
		return nil, err
	}
	linked, err := link.Link([]*object.Object{o}, link.Options{})
	if err != nil {
		return nil, err
	}
	return btf.Parse(linked.BTF, nil)
}

// keepLong keeps the type long of a 32-bit kernel, from which readers learn the size of a pointer.
func (r *reducer) keepLong() {
	if r.side[0].PointerSize() != 4 {
		return
	}
	for _, b := range r.blobs {
		for i := range b.Types {
			t := &b.Types[i]
			if t.Kind == btf.KindInt && t.SizeOrType == 4 && t.NameOff != 0 &&
				slices.Contains(strings.Fields(b.TypeName(t)), "long") {
				b.types[i] = asWhole
				return
			}
		}
	}
}
