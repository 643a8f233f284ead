package dwarf

import std "debug/dwarf"

// Untyped reports whether a unit in C was compiled with -g1 (clang: or -gline-tables-only). Such a
// unit has functions, but no types and no parameters. It doesn't even say that a function has no
// parameters (DW_AT_prototyped), as units do that have only functions like void f(void).
//
// clang with -g1 describes only functions that were inlined, their callers, and declarations of the
// functions that these call, which it marks as prototyped. So for clang, such declarations don't
// count, and code says whether the unit has code. The abbreviation declarations are enough to
// answer the question.
// Rule: units without types (-g1).
func (r *Reader) Untyped(clang, code bool) bool {
	if !r.isC || r.abbrevs.sparse != nil {
		return false
	}
	functions := clang && code
	for _, a := range r.abbrevs.dense {
		switch {
		case a == nil:
		case a.typed, a.prototyped && !clang:
			return false
		case a.Tag == std.TagSubprogram:
			functions = true
		}
	}
	return functions
}

// lacksTypes reports whether units without types may have entries with the tag.
func lacksTypes(t std.Tag) bool {
	switch t {
	case std.TagCompileUnit, std.TagSkeletonUnit, std.TagSubprogram, std.TagInlinedSubroutine,
		std.TagLexDwarfBlock, std.TagLabel, std.TagVariable, std.TagCallSite, tagGNUCallSite,
		TagLLVMAnnotation, TagGNUAnnotation:
		return true
	}
	return false
}
