// Package symbols tells what the symbols of the linked file say of names, and which units they show
// to be linked.
package symbols

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Bits are what an Index knows of a name: a base name, or a symbol's with its suffix.
type Bits uint16

const (
	ExactGlobal Bits = 1 << iota // a function's symbol of just this name is global
	ExactLocal                   // one is local to a source file
	ExactLoose                   // one is local, and no source file is known: hidden ones, say
	Suffixed                     // a function symbol has this name and a suffix
	Split                        // this name is that of a part of a function (foo.part.0)
	Ambiguous                    // its symbols have several addresses
	Global                       // a function or variable has a global symbol of this name
	Hidden                       // it had a global symbol, which the linker made local
	SameName                     // several function symbols have just this name
	Kfunc                        // it is a kfunc
	HasClones                    // symbols of this name with a suffix have their own candidates

	Exact = ExactGlobal | ExactLocal | ExactLoose // a function symbol has just this name
)

// Index is what the facts say of names. It knows names that the graph has; without facts it knows
// nothing.
type Index struct {
	bits   []Bits      // by types.Str
	locals []types.Str // the names of local function symbols, file by file
	ends   []int       // by index in Facts.Files: where in locals the file's names end
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

// Locals returns the names of a file's local function symbols; file is its index in Facts.Files.
// A name that the graph doesn't have is 0.
func (x *Index) Locals(file int) []types.Str {
	from := 0
	if file > 0 {
		from = x.ends[file-1]
	}
	return x.locals[from:x.ends[file]]
}

// New makes an index of the names of f, which may be nil.
func New(strs *types.Strings, f *facts.Facts) *Index {
	if f == nil {
		return &Index{}
	}
	room := len(f.Globals) + len(f.Objects) + len(f.Kfuncs) + len(f.SeveralAddresses)
	for i := range f.Files {
		room += len(f.Files[i].Funcs)
	}
	room += room / 8 // symbols with suffixes are noted twice
	n := &noted{make([]types.Hash, 0, room), make([]Bits, 0, room)}
	for _, s := range f.Globals {
		n.function(s, ExactGlobal, Global)
	}
	globals, ends := len(n.hashes), make([]int, len(f.Files))
	for i := range f.Files {
		// Hidden symbols are local in a linked file, and stand after those of all files.
		place, bits := ExactLocal, Bits(0)
		if f.Files[i].Name == "" {
			place, bits = ExactLoose, Hidden
		}
		for _, s := range f.Files[i].Funcs {
			n.function(s, place, bits)
		}
		ends[i] = len(n.hashes) - globals
	}
	for i := range f.SeveralAddresses {
		n.name(f.SeveralAddresses[i].Name, Ambiguous)
	}
	for i := range f.Kfuncs {
		n.name(f.Kfuncs[i].Name, Kfunc)
	}
	for i := range f.Objects {
		switch o := &f.Objects[i]; {
		case !o.Local:
			n.name(o.Name, Global)
		case f.Files[o.File].Name == "":
			n.name(o.Name, Hidden)
		}
	}
	found := strs.LookupAll(n.hashes, make([]types.Str, 0, len(n.hashes)))
	x := &Index{make([]Bits, strs.Len()), found[globals:], ends}
	for i, s := range found {
		bits := n.bits[i]
		if bits&Exact == 0 {
			found[i] = 0 // a base name
		}
		if s == 0 {
			continue // nothing has the name
		}
		if bits&Exact != 0 && x.bits[s]&Exact != 0 {
			bits |= SameName
		}
		x.bits[s] |= bits
	}
	return x
}

// noted are the names of facts, by their hashes, which are looked up together.
type noted struct {
	hashes []types.Hash
	bits   []Bits
}

func (n *noted) name(name string, bits Bits) {
	n.hashes = append(n.hashes, types.HashString([]byte(name)))
	n.bits = append(n.bits, bits)
}

// function notes the symbol of a function, or of a part of one. place is one of Exact.
func (n *noted) function(symbol string, place, bits Bits) {
	switch base, ok := facts.BaseName(symbol); {
	case !ok:
		n.name(symbol, place|bits|Split)
	case len(base) == len(symbol):
		n.name(base, place|bits)
	default:
		n.name(base, bits|Suffixed)
		n.name(symbol, place|bits)
	}
}

// AddBases brings the base names of those functions' symbols into the graph that have candidates by
// their names with suffixes.
func AddBases(strs *types.Strings, f *facts.Facts) {
	if f == nil {
		return
	}
	add := func(list []string) {
		for _, symbol := range list {
			if dot := strings.IndexByte(symbol, '.'); dot > 0 {
				if _, ok := strs.Lookup([]byte(symbol)); ok {
					strs.Intern([]byte(symbol[:dot]))
				}
			}
		}
	}
	add(f.Globals)
	for i := range f.Files {
		add(f.Files[i].Funcs)
	}
}
