// Package dwarf reads DWARF 2 to 5 as flat records. It has one purpose: to find types, functions
// and variables as fast as memory can be read.
//
// # The problem
//
// In each compilation unit (CU), a compiler describes all types that the CU uses. So a kernel has
// 2,500 descriptions of each type in its common headers. Take two files that include list.h:
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
// gcc makes these entries (DIEs) for them; the offsets are from the start of the CU:
//
//	a.c                                 b.c
//	0x2e structure_type list, 16 bytes  0x57 structure_type list, 16 bytes
//	0x3b   member next: 0x52 at 0       0x64   member next: 0x7b at 0
//	0x46   member length: 0x58 at 8     0x6f   member length: 0x81 at 8
//	0x52 pointer_type to 0x2e           0x7b pointer_type to 0x57
//	0x58 base_type int, 4 bytes         0x81 base_type int, 4 bytes
//
// The bytes differ: in offsets, abbreviation codes, lines and columns. The meaning is the same, and
// more than 99% of a kernel's DIEs are such repeats. Repeats are recognized without decoding: the
// entries of both structs have the same [Fingerprint]. Only new entries are decoded, each to a
// [DIE]. No tree is built.
//
// # The passes
//
// For a file, [New] lists the units. It reads only their headers.
//
// For a unit, [Reader.Load] reads the bytes and compiles the abbreviation declarations
// (abbrevTable). A declaration is compiled once for all units that have it. The result has two
// forms. Take the members above as an example. Their attributes are
//
//	DW_AT_name strp, DW_AT_decl_file data1, DW_AT_decl_line data1, DW_AT_decl_column data1,
//	DW_AT_type ref4, DW_AT_data_member_location data1
//
// so a member has 12 bytes after its code. The first form is a list of runs (run.go). Here it is
// one run, with the name at 0, the type at 7 and the location at 11; a block, a string or a LEB128
// number ends a run. Any entry can be read run by run. The second form, a plan (plan.go), has the
// same information in 32 bytes, for the fast loops. A declaration has a plan if its entries are
// small and simple enough, as nearly all are.
//
// There is one way to read an entry: [Reader.Read] decodes its wanted attributes, which are those
// that the conversion to BTF uses (constants.go), to a [DIE]. [Reader.Children] does the same for
// one child after another. [Reader.String], [Reader.FirstAddress], [Reader.Locations] and others
// resolve the values of attributes; [Operands.Next] reads the operations of an expression
// (expression.go).
//
// The loops of the conversion (package convert) pass far more entries than they decode. Only they
// use the other ways, which are faster:
//
//   - [Prints.Sweep] goes over the entries at file scope: it makes the fingerprints of types, lists
//     the entries that the conversion must visit (sweep.go), and reads the definitions among these
//     (definition.go); [Prints.Visit] leads from one of the others to the next;
//   - [Reader.Skip] uses plans to skip entries that declare nothing (skip.go);
//   - [Reader.Peek] returns a [Head]: where an entry ends, and its abbreviation declaration;
//     [Reader.After] skips the entry and its children;
//   - [Prints.Definition], [Prints.Type] and [Prints.Entry] make fingerprints, with the plan of an
//     entry (fastprint.go) or, if it has none, attribute by attribute (plainprint.go);
//   - [Reader.Function] reads the parameters of a function, and remembers them (function.go);
//   - [Reader.References] and [Reader.Through] find what entries refer to (references.go).
//
// Input is untrusted. budget.go limits the work that a file can cause.
//
// Offsets of DIEs are relative to the first byte of their unit's header, as in DW_FORM_ref4.
//
// Source: DWARF Debugging Information Format, versions 4 and 5; section numbers in comments refer
// to version 5.
package dwarf
