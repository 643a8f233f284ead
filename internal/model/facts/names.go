package facts

import (
	"slices"
	"strings"
)

// BaseName cuts off a function symbol's name at its first dot: the base name of "f.isra.0" is "f".
// The result ok is false for parts of functions (.cold, .part) and names that begin with a dot.
// Rule: base names of optimized functions (.isra.0, .constprop.0). Source: pahole
// str_contains_optimized_fn_suffix, elf_functions__collect.
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

// IsPart reports whether a symbol names a part that was split off a function (foo.part.0), which
// DWARF describes as an instance of the function. Cold parts (.cold) are not in the DWARF.
// Rule: .cold and .part symbols are not functions. Source: pahole str_contains_non_fn_suffix.
func IsPart(symbol string) bool {
	dot := strings.IndexByte(symbol, '.')
	return dot > 0 && strings.Contains(symbol[dot:], ".part") &&
		!strings.Contains(symbol[dot:], ".cold")
}

// renamed lists what link-time optimization puts between a static variable's name and a number.
// clang's ThinLTO writes the first item, gcc the second one.
var renamed = []string{".llvm.", ".lto_priv."}

// SourceName returns the name that the variable with the given symbol has in the source: for
// "state.llvm.123", that is "state". If link-time optimization has merged all sources, LLVM
// distinguishes static variables with the same name by just a number, so the name for "state.2" is
// "state" too. Otherwise, "state.2" is a static variable in a function, and keeps its number.
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

// generatedPrefixes are the prefixes of variables that compilers and macros make.
var generatedPrefixes = []string{
	"__UNIQUE_ID", "__tpstrtab_", "__exitcall_", "__gendwarfksyms_ptr_",
	"__func_stack_frame_non_standard_",
}

// Generated reports whether a compiler or macro made the variable. pahole and the link drop it.
// Rule: variables that compilers and macros make. Source: pahole filter_variable_name.
func Generated(variable string) bool {
	return slices.ContainsFunc(generatedPrefixes,
		func(p string) bool { return strings.HasPrefix(variable, p) })
}

// nameStore keeps copies of names together; strings.Clone would allocate memory for each.
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
