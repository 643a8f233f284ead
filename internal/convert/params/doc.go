// Package params judges what DWARF says about a function's parameters: whether
// a tracer that reads them from the ABI's registers would find them there.
//
// The rules are those of dwarves 1.32. Which DIEs are judged, and what follows from a flag:
//
//   - Every subprogram DIE that has code is judged with its own formal parameters (Judge). An
//     abstract instance (no code) has no locations; only UncertainLocation, which looks at types
//     alone, says anything about it.
//   - The flags Reordered, UnexpectedRegister and UncertainLocation apply to every function,
//     whatever its symbol is called: once one member of the group of functions with one base
//     name has the flag, the whole group is left out.
//   - Optimized alone leaves nothing out: callers still pass the argument, the function just
//     ignores it. It counts only where the compiler changed the interface: when the symbol at
//     the function's own entry is a clone with .isra or .constprop in its name (gcc), or when
//     the function is marked DW_CC_nocall (clang). Take the entry from DW_AT_low_pc,
//     DW_AT_entry_pc or the first of DW_AT_ranges: functions split into a hot and a cold part
//     have no low_pc. A group is left out for it if every member whose entry has one of the
//     group's symbols is Optimized in this sense. Members at a .part or .cold symbol, or at
//     none, have no say in that (their other flags count).
//   - For a clone from a compiler's BTF (types.FuncUnlocated) it is unknown whether it would be
//     Optimized. It counts as if it were, under its own reason.
//   - With the feature true_signature, Optimized leaves nothing out; the function is written
//     under its suffixed name without the parameters that Verdict.Removed lists.
//     UnexpectedRegister and UncertainLocation still keep that from happening, Reordered does
//     not.
//
// When several reasons hold for one group, the reported one is the first that holds of: only clones
// are in the file (without the feature optimized_func), ambiguous address, optimized parameters,
// unknown parameters, reordered parameters, uncertain parameter location, inconsistent prototype
// (only with the feature consistent_func), unexpected register, unnamed parameter. The last is the
// kernel's rule: a FUNC's parameters have names. C23 and C++ allow definitions without; dwarves
// drops them without a word.
package params

// The reasons for leaving a function out, as they are reported. Ambiguous
// addresses, inconsistent prototypes and names are not judged here; their names
// stand here to keep all of them in one place.
const (
	ReasonAmbiguousAddress      = "ambiguous address"
	ReasonClone                 = "only clones are in the file" // without optimized_func
	ReasonOptimized             = "optimized parameters"
	ReasonUnknown               = "unknown parameters of a clone"
	ReasonReordered             = "reordered parameters"
	ReasonUncertainLocation     = "uncertain parameter location"
	ReasonInconsistentPrototype = "inconsistent prototype"
	ReasonUnexpectedRegister    = "unexpected register"
	ReasonUnnamedParameter      = "unnamed parameter"
)
