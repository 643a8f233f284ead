// Package params judges, from the DWARF of a function's parameters, whether a tracer that reads the
// parameters from the ABI's registers would find them there.
//
// The rules are the same as in dwarves 1.32. They say which DIEs are judged, and what follows from
// a flag:
//
//   - Every subprogram DIE that has code is judged with its own formal parameters (Judge). An
//     abstract instance (which has no code) has no locations; only UncertainLocation, which depends
//     on types alone, can apply to it.
//   - A parameter without a location sets Optimized. So does a location that names no register or,
//     for a parameter that the ABI passes on the stack, a location that gives a known value. With
//     true_signature, in a function that clang changed, a location that names no register sets
//     UnexpectedRegister instead, unless the value is constant.
//   - A parameter that is not in the ABI's register for its position sets UnexpectedRegister. If a
//     parameter is a struct by value, that flag is not set, except with true_signature for a clone
//     from gcc with reordered parameters.
//   - In functions that clang compiled without a change, any register that the parameter takes up
//     is expected, and so is a location without a register. A parameter takes up one register per
//     word (slots); on some machines, an integer of two words starts at an even one (align). If a
//     machine's registers aren't known (Machine.registers), every register is expected.
//   - Reordered, UnexpectedRegister and UncertainLocation apply whatever the function's symbol is
//     called. If one function of a group (the functions with one base name) has such a flag, the
//     group is left out. Weak functions that the linker didn't use don't count.
//   - Optimized matters only if the compiler changed the interface; otherwise callers still pass
//     the argument, and the function ignores it. The interface is changed if the symbol at the
//     function's own entry has .isra or .constprop in its name (gcc), or if the function is marked
//     DW_CC_nocall (clang). The entry is DW_AT_low_pc, DW_AT_entry_pc or the first of DW_AT_ranges,
//     because functions that are split into a hot and a cold part have no low_pc. A group is left
//     out if every member whose entry has one of the group's symbols is Optimized in this sense.
//     For this rule, members at a .part or .cold symbol, or without a symbol, don't matter (their
//     other flags do).
//   - It is unknown whether a clone from a compiler's BTF (types.FuncUnlocated) would be Optimized.
//     Such a clone is treated as if it were, with a separate reason.
//   - With the feature true_signature, Optimized leaves no function out: the function is written
//     under its suffixed name, without the parameters that Verdict.Removed lists.
//     UnexpectedRegister and UncertainLocation still leave the function out; Reordered doesn't.
//
// If several reasons hold for one group, the first one in this order is reported: function name is
// not an identifier, only clones are in the file, ambiguous address, optimized parameters, unknown
// parameters, reordered parameters, uncertain parameter location, inconsistent prototype,
// unexpected register, unnamed parameter. The reason about clones applies only without the feature
// optimized_func. Prototypes are consistent if they are equal apart from const, parameter names and
// what named types contain (looseHashes in link/decide/prototypes.go). Without the feature
// consistent_func, inconsistent prototypes matter only if the linker made the symbol local (hidden
// in link/decide/owners.go). The first and the last reason follow from rules of the kernel: the
// name of a FUNC must be an identifier, and its parameters must have names. gcc and clang allow
// other names, such as f$n, and C23 and C++ allow unnamed parameters in definitions; dwarves
// silently leaves functions with unnamed parameters out. The reason for a parameter of a type that
// is only declared comes before optimized parameters.
// Rule: skipped: all reasons, in the order in which they are checked. Source: pahole
// btf_encoder__add_saved_funcs.
package params

// The reasons for leaving a function out, as they are reported. Ambiguous addresses, inconsistent
// prototypes and names are judged elsewhere; their reasons are here so that the list is complete.
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
	ReasonName                  = "function name is not an identifier"
	ReasonUnsized               = "parameter of a type that is only declared" // or the result
)
