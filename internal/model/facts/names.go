package facts

import (
	"slices"
	"strings"
)

// BaseName cuts a function symbol's name at its first dot: "f.isra.0" is f. ok is false for symbols
// that stand for no function of their own: the cold and split-off parts of others (.cold, .part),
// and names that begin with a dot.
func BaseName(symbol string) (base string, ok bool) {
	dot := strings.IndexByte(symbol, '.')
	switch {
	case dot < 0:
		return symbol, symbol != ""
	case dot == 0, strings.Contains(symbol[dot:], ".cold"), strings.Contains(symbol[dot:], ".part"):
		return "", false
	}
	return symbol[:dot], true
}

// IsPart reports whether a symbol stands for a part of a function that was split off (foo.part.0),
// which DWARF describes as an instance of the function. DWARF has none of the cold part (.cold).
func IsPart(symbol string) bool {
	dot := strings.IndexByte(symbol, '.')
	return dot > 0 && strings.Contains(symbol[dot:], ".part") &&
		!strings.Contains(symbol[dot:], ".cold")
}

// renamed are what link-time optimization puts between a static variable's name and a number:
// clang's ThinLTO, and gcc.
var renamed = []string{".llvm.", ".lto_priv."}

// SourceName is the name that a variable's symbol has in the source: "state.llvm.123" is state.
// Where link-time optimization has put all sources together, LLVM tells static variables of one
// name apart by a number alone, so "state.2" is state too. Elsewhere that is a variable of a
// function, and keeps its number.
func (f *Facts) SourceName(symbol string) string {
	for _, s := range renamed {
		if i := strings.Index(symbol, s); i > 0 {
			return symbol[:i]
		}
	}
	if i := strings.LastIndexByte(symbol, '.'); i > 0 && !f.HasFiles &&
		strings.Trim(symbol[i+1:], "0123456789") == "" {
		return symbol[:i]
	}
	return symbol
}

// generatedPrefixes begin the names of variables that compilers and macros make.
var generatedPrefixes = []string{
	"__UNIQUE_ID", "__tpstrtab_", "__exitcall_", "__gendwarfksyms_ptr_",
	"__func_stack_frame_non_standard_",
}

// Generated reports whether a variable is one that compilers and macros make. pahole drops these,
// and so does the link.
func Generated(variable string) bool {
	return slices.ContainsFunc(generatedPrefixes,
		func(p string) bool { return strings.HasPrefix(variable, p) })
}

// nameStore keeps names together, where strings.Clone would allocate each.
type nameStore struct{ text strings.Builder }

// keep returns a copy of s that doesn't refer to the file.
func (n *nameStore) keep(s string) string {
	if n.text.Cap()-n.text.Len() < len(s) {
		n.text = strings.Builder{}
		n.text.Grow(max(1<<16, len(s)))
	}
	at := n.text.Len()
	n.text.WriteString(s)
	return n.text.String()[at:]
}
