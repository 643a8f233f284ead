package link

import (
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// What symbolIndex knows of a base name.
const (
	symExact     = 1 << iota // a function symbol has just this name
	symSuffixed              // a function symbol has this name and a suffix
	symAmbiguous             // its symbols have several addresses
	symGlobal                // a function or variable has a global symbol of this name
	symHidden                // one of no source file has it: a global one that the linker made local
	symTwice                 // several function symbols have just this name
	symKfunc                 // it is a kfunc
	// symbols of this name with a suffix have candidates of their own (true_signature)
	symOwned
)

// symbolIndex is what the facts say of names.
type symbolIndex struct {
	bits []uint8 // by types.Str

	// Names wait here to be looked up together.
	hashes  []types.Hash
	waiting []uint8 // by hash: the bits
	found   []types.Str
	buf     []byte
}

// add notes bits of a name.
func (x *symbolIndex) add(strs *types.Strings, name string, bits uint8) {
	x.buf = append(x.buf[:0], name...)
	x.hashes, x.waiting = append(x.hashes, types.HashString(x.buf)), append(x.waiting, bits)
	if len(x.hashes) == 1<<8 {
		x.flush(strs)
	}
}

// flush looks the names up that wait.
func (x *symbolIndex) flush(strs *types.Strings) {
	x.found = strs.LookupAll(x.hashes, x.found[:0])
	for i, s := range x.found {
		bits := x.waiting[i]
		if s == 0 {
			continue // nothing has the name
		}
		if bits&x.bits[s]&symExact != 0 {
			bits |= symTwice
		}
		x.bits[s] |= bits
	}
	x.hashes, x.waiting = x.hashes[:0], x.waiting[:0]
}

// indexSymbols fills l.symbols.
func (l *linker) indexSymbols() {
	f := l.opt.Facts
	if f == nil {
		return
	}
	x := &l.symbols
	x.bits = make([]uint8, l.g.Strs.Len())
	set := func(name string, bits uint8) { x.add(&l.g.Strs, name, bits) }
	function := func(symbol string, bits uint8) {
		base, ok := facts.BaseName(symbol)
		switch {
		case !ok:
		case len(base) == len(symbol):
			set(base, bits|symExact)
		default:
			set(base, bits|symSuffixed)
			if l.opt.Features.Has(features.TrueSignature) {
				set(symbol, bits|symExact)
			}
		}
	}
	for _, s := range f.Globals {
		function(s, symGlobal)
	}
	for i := range f.Files {
		// Hidden symbols are local in a linked file, and stand behind those of all files.
		var bits uint8
		if f.Files[i].Name == "" {
			bits = symHidden
		}
		for _, s := range f.Files[i].Funcs {
			function(s, bits)
		}
	}
	for i := range f.Repeated {
		set(f.Repeated[i].Name, symAmbiguous)
	}
	for i := range f.Kfuncs {
		set(f.Kfuncs[i].Name, symKfunc)
	}
	for i := range f.Objects {
		switch o := &f.Objects[i]; {
		case !o.Local:
			set(o.Name, symGlobal)
		case f.Files[o.File].Name == "":
			set(o.Name, symHidden)
		}
	}
	x.flush(&l.g.Strs)
}
