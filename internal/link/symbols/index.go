// Package symbols tells what the symbols of the linked file say of names, and which units they show
// to be linked.
package symbols

import (
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Bits are what an Index knows of a base name.
type Bits uint8

const (
	Exact     Bits = 1 << iota // a function symbol has just this name
	Suffixed                   // a function symbol has this name and a suffix
	Ambiguous                  // its symbols have several addresses
	Global                     // a function or variable has a global symbol of this name
	Hidden                     // it had a global symbol, which the linker made local
	Repeated                   // several function symbols have just this name
	Kfunc                      // it is a kfunc
	HasClones                  // symbols of this name with a suffix have candidates of their own
)

// Index is what the facts say of names. It knows names that the graph has; without facts it knows
// nothing.
type Index struct {
	bits []Bits // by types.Str

	// Names wait here to be looked up together.
	hashes  []types.Hash
	waiting []Bits // by hash
	found   []types.Str
	name    []byte
}

// Of returns what is known of a name.
func (x *Index) Of(name types.Str) Bits {
	if int(name) >= len(x.bits) {
		return 0
	}
	return x.bits[name]
}

// Add notes more of a name that the graph has had since New.
func (x *Index) Add(name types.Str, bits Bits) { x.bits[name] |= bits }

// New makes an index of the names of f, which may be nil.
func New(strs *types.Strings, f *facts.Facts, set features.Set) *Index {
	x := &Index{}
	if f == nil {
		return x
	}
	x.bits = make([]Bits, strs.Len())
	function := func(symbol string, bits Bits) {
		base, ok := facts.BaseName(symbol)
		switch {
		case !ok:
		case len(base) == len(symbol):
			x.wait(strs, base, bits|Exact)
		default:
			x.wait(strs, base, bits|Suffixed)
			if set.Has(features.TrueSignature) {
				x.wait(strs, symbol, bits|Exact)
			}
		}
	}
	for _, s := range f.Globals {
		function(s, Global)
	}
	for i := range f.Files {
		// Hidden symbols are local in a linked file, and stand after those of all files.
		var bits Bits
		if f.Files[i].Name == "" {
			bits = Hidden
		}
		for _, s := range f.Files[i].Funcs {
			function(s, bits)
		}
	}
	for i := range f.Repeated {
		x.wait(strs, f.Repeated[i].Name, Ambiguous)
	}
	for i := range f.Kfuncs {
		x.wait(strs, f.Kfuncs[i].Name, Kfunc)
	}
	for i := range f.Objects {
		switch o := &f.Objects[i]; {
		case !o.Local:
			x.wait(strs, o.Name, Global)
		case f.Files[o.File].Name == "":
			x.wait(strs, o.Name, Hidden)
		}
	}
	x.flush(strs)
	return x
}

// wait notes bits of a name, some time before flush returns.
func (x *Index) wait(strs *types.Strings, name string, bits Bits) {
	x.name = append(x.name[:0], name...)
	x.hashes, x.waiting = append(x.hashes, types.HashString(x.name)), append(x.waiting, bits)
	if len(x.hashes) == 1<<8 {
		x.flush(strs)
	}
}

// flush looks up the names that wait.
func (x *Index) flush(strs *types.Strings) {
	x.found = strs.LookupAll(x.hashes, x.found[:0])
	for i, s := range x.found {
		bits := x.waiting[i]
		if s == 0 {
			continue // nothing has the name
		}
		if bits&x.bits[s]&Exact != 0 {
			bits |= Repeated
		}
		x.bits[s] |= bits
	}
	x.hashes, x.waiting = x.hashes[:0], x.waiting[:0]
}
