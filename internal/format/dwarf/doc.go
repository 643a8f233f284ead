// Package dwarf reads DWARF 2 to 5 as flat records, for one purpose: types, functions and variables
// at the speed at which memory can be read.
//
// # The problem
//
// A compiler describes in each compilation unit (CU) all types that it uses. So a kernel has 2,500
// descriptions of the types of its common headers. Of two files that include one header,
//
//	// list.h
//	struct list { struct list *next; int length; };
//	// a.c
//	#include "list.h"
//	int first(struct list *l) { return l->length; }
//	// b.c
//	typedef long total;
//	static total sum;
//	#include "list.h"
//	void add(struct list *l) { sum += l->length; }
//
// gcc makes these entries (DIEs), at offsets from the start of their CU:
//
//	a.c                                 b.c
//	0x2e structure_type list, 16 bytes  0x57 structure_type list, 16 bytes
//	0x3b   member next: 0x52 at 0       0x64   member next: 0x7b at 0
//	0x46   member length: 0x58 at 8     0x6f   member length: 0x81 at 8
//	0x52 pointer_type to 0x2e           0x7b pointer_type to 0x57
//	0x58 base_type int, 4 bytes         0x81 base_type int, 4 bytes
//
// The bytes differ: in offsets, in the codes of abbreviations, in lines and columns. What is said is
// the same, and more than 99% of a kernel's DIEs are such repeats. They are found without decoding
// them: both structs have one [Fingerprint]. Only what is new is decoded, as a [DIE]. There is no
// tree.
//
// # The passes
//
// For a file: [New] lists its units, by their headers alone.
//
// For a unit: [Reader.Load] reads it and compiles its abbreviation declarations (abbrevTable). A
// declaration is compiled once for all units that have it, to two forms. Of the members above it
// is
//
//	DW_AT_name strp, DW_AT_decl_file data1, DW_AT_decl_line data1, DW_AT_decl_column data1,
//	DW_AT_type ref4, DW_AT_data_member_location data1
//
// so a member has 12 bytes after its code: it is one run (run.go), with the name at 0, the type at
// 7 and the location at 11; a block, a string or a LEB128 number ends a run. Its plan (plan.go) says
// the same in 32 bytes, for the fast loops. Any entry can be read by its runs; a plan is there if
// the entry is small and simple enough, as nearly all are.
//
// For the entries of a unit:
//
//   - [Reader.SkipIdle] passes those that declare nothing, by their plans (skip.go);
//   - [Prints.Definition] and [Prints.Type] make fingerprints, by plans (fastprint.go) or of any
//     entry (plainprint.go);
//   - [Reader.Peek] finds where an entry ends and how it is declared, as a [Head];
//   - [Reader.Read], [Reader.Children] and [Reader.Function] decode it, only the attributes that
//     the conversion to BTF wants (constants.go);
//   - [Reader.StringAt], [Reader.Address] and [Reader.Locations] resolve the values of attributes.
//
// Input is untrusted: budget.go bounds the work that a file can ask for.
//
// Offsets of DIEs are relative to the first byte of their unit's header, as those of DW_FORM_ref4.
//
// Source: DWARF Debugging Information Format, versions 4 and 5; section numbers in comments are
// version 5's.
package dwarf
