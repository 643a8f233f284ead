// Package symbols looks at the symbols of the linked file to find which names and which units were
// linked.
package symbols

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/pages"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Bits are what is known about a name, which is either a base name or a symbol's name with its
// suffix.
// Rule: symbols: what is known about a name.
type Bits uint16

const (
	ExactGlobal Bits = 1 << iota // a function symbol of exactly this name is global
	ExactLocal                   // a function symbol of exactly this name is local to a file
	ExactLoose                   // a function symbol of exactly this name is local to an unknown file
	Suffixed                     // a function symbol has this name and a suffix
	Part                         // the name is that of a part of a function (foo.part.0)
	Ambiguous                    // the symbols with this name have several addresses
	Global                       // a function or variable has a global symbol with this name
	Hidden                       // the linker made a global symbol with this name local
	SameName                     // several function symbols have exactly this name
	Kfunc                        // the name is that of a kfunc
	HasClones                    // symbols of this name with a suffix have their own candidates

	Exact = ExactGlobal | ExactLocal | ExactLoose // a function symbol has exactly this name
)

// Index records what is known about the names in the graph. It is empty if there are no facts.
type Index struct {
	bits   []Bits      // by types.Str
	locals []types.Str // the names of local function symbols, file by file
	ends   []int       // by index in Facts.Files: where in locals the file's names end
}

// Of returns what is known about a name.
func (x *Index) Of(name types.Str) Bits {
	if int(name) >= len(x.bits) {
		return 0
	}
	return x.bits[name]
}

// Add adds bits for a name that the graph already had when New was called.
func (x *Index) Add(name types.Str, bits Bits) { x.bits[name] |= bits }

// Locals returns the names of a file's local function symbols; the parameter file is the file's
// index in Facts.Files. For a name that the graph doesn't have, the list has 0.
func (x *Index) Locals(file int) []types.Str {
	from := 0
	if file > 0 {
		from = x.ends[file-1]
	}
	return x.locals[from:x.ends[file]]
}

// New makes an index of the names in f, which may be nil.
func New(strs *types.Strings, f *facts.Facts) *Index {
	if f == nil {
		return &Index{}
	}
	room := len(f.Globals) + len(f.Vars) + len(f.Kfuncs) + len(f.SeveralAddresses)
	for i := range f.Files {
		room += len(f.Files[i].Funcs)
	}
	n := newNoted(strs, room+room/8) // symbols with suffixes are noted twice
	for _, s := range f.Globals {
		if isPromoted(s) {
			n.function(s, ExactLoose, Hidden) // as in a linked file, where it is local
		} else {
			n.function(s, ExactGlobal, Global)
		}
	}
	globals, ends := len(n.found), make([]int, len(f.Files))
	for i := range f.Files {
		// In a linked file, hidden symbols are local, and follow the symbols of all source files.
		place, bits := ExactLocal, Bits(0)
		if f.Files[i].Name == "" {
			place, bits = ExactLoose, Hidden
		}
		for _, s := range f.Files[i].Funcs {
			n.function(s, place, bits)
		}
		ends[i] = len(n.found) - globals
	}
	local := len(n.found)
	for i := range f.SeveralAddresses {
		n.name(f.SeveralAddresses[i].Name, Ambiguous)
	}
	for i := range f.Kfuncs {
		n.name(f.Kfuncs[i].Name, Kfunc)
	}
	for i := range f.Vars {
		switch o := &f.Vars[i]; {
		case !o.Local:
			n.name(o.Name, Global)
		case f.Files[o.File].Name == "":
			n.name(o.Name, Hidden)
		}
	}
	return &Index{n.known, n.found[globals:local], ends}
}

// noted collects names in the facts.
type noted struct {
	strs  *types.Strings
	found []types.Str // 0 for base names, and for names that the graph doesn't have
	known []Bits      // by types.Str
}

func newNoted(strs *types.Strings, room int) *noted {
	return &noted{strs: strs, found: make([]types.Str, 0, room), known: pages.Make[Bits](strs.Len())}
}

func (n *noted) name(name string, bits Bits) {
	s, _ := n.strs.Lookup([]byte(name))
	if s != 0 { // the graph has this name
		if bits&Exact != 0 && n.known[s]&Exact != 0 {
			n.known[s] |= SameName
		}
		n.known[s] |= bits
	}
	if bits&Exact == 0 {
		s = 0 // a base name
	}
	n.found = append(n.found, s)
}

// function records the symbol of a function, or of a part of one; place must be a bit of Exact.
func (n *noted) function(symbol string, place, bits Bits) {
	switch base, ok := facts.BaseName(symbol); {
	case !ok:
		n.name(symbol, place|bits|Part)
	case len(base) == len(symbol):
		n.name(base, place|bits)
	default:
		n.name(base, bits|Suffixed)
		n.name(symbol, place|bits)
	}
}

// AddBases adds base names to the graph: if a function symbol has a suffix, and the graph has its
// full name, then AddBases adds the name without the suffix. It uses up to jobs threads.
func AddBases(strs *types.Strings, f *facts.Facts, jobs int) {
	if f == nil {
		return
	}
	const some = 1 << 6 // files
	bases := make([][]string, 1+(len(f.Files)+some-1)/some)
	parallel.Do(jobs, len(bases), func(part int) {
		find := func(list []string) {
			for _, symbol := range list {
				if dot := strings.IndexByte(symbol, '.'); dot > 0 {
					if _, ok := strs.Lookup([]byte(symbol)); ok {
						bases[part] = append(bases[part], symbol[:dot])
					}
				}
			}
		}
		if part == 0 {
			find(f.Globals)
			return
		}
		for i := (part - 1) * some; i < min(part*some, len(f.Files)); i++ {
			find(f.Files[i].Funcs)
		}
	})
	for _, list := range bases {
		for _, base := range list {
			strs.Intern([]byte(base))
		}
	}
}
