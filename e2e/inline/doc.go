// Package inline checks the BTF of inlined functions against three oracles: the reader, which is
// plain code that finds sites in DWARF (it uses Go's debug/elf and debug/dwarf, and shares no code
// with our tools); gdb; and random programs that record which values they pass. A site is an
// address at which a function was inlined.
//
// The sites from BTF and from the reader are compared as text, with one line for each site:
//
//	SECTION+0xOFFSET FUNCTION(PARAMETER, PARAMETER …)
//
// A PARAMETER has one of these forms. N is a register's number in DWARF, or fb for the frame base:
//
//	?              unknown
//	const SIZE 0xV the constant V, in SIZE bytes
//	addr 0xOFF     an address, counted from the start of the kernel
//	reg N          the value is in a register
//	regs N M       the value is in two registers, the first of which has the first bytes
//	reg N+OFF      the value is the sum of a register and OFF, which may be negative
//	mem N+OFF      the value is in memory, at the sum of a register and OFF; "mem N" if OFF is 0
//
// The file elffile.go reads sections and relocates them, dwarf.go finds the sites, location.go
// finds out where a parameter is, and btf.go lists the sites in BTF. The file program.go writes
// random programs, and sites.py, which runs in gdb, compares the locations with the values that gdb
// shows and those that the programs have recorded. gdb doesn't support views (see rule 5), so
// locations that depend on views are not compared with gdb. The recorded values are compared only
// at addresses from DW_AT_entry_pc. clang doesn't write that attribute, so its functions may have
// begun at an earlier address.
//
// # Rules
//
// The kernel's headers leave some questions open. The reader answers them as follows.
//
//  1. A site is a DW_TAG_inlined_subroutine whose address is in an executable section. The
//     address is DW_AT_entry_pc; or else DW_AT_low_pc; or else the start of the first range that
//     is not empty. The address where a section ends is not in the section. Code that the linker
//     dropped is in no section, so it has no sites.
//  2. The function is at the end of the chain of DW_AT_abstract_origin and DW_AT_specification;
//     the first name in this chain is its name. A function without a name has no sites.
//  3. The parameters are those of the first DIE in this chain that has any, in the order of that
//     DIE. Each DW_TAG_formal_parameter of a site has a chain of DW_AT_abstract_origin, which leads
//     to one of these parameters. A parameter to which none leads is unknown. The "…" of a
//     variadic function isn't a parameter.
//  4. A parameter's size is that of its type, without qualifiers and typedefs. A parameter whose
//     type has no size is unknown. So is one of more than 16 bytes, because the kernel's verifier
//     accepts no larger ones.
//  5. In a location list, the first entry whose range contains the site's address and view is used.
//     The views of an address are successive points in the source between the same two
//     instructions; gcc numbers them from 0 (DW_AT_GNU_entry_view, DW_AT_GNU_locviews). So a range
//     begins at a view of an address, and ends at a view of an address. The end isn't part of the
//     range. If no range contains the address and view, the first entry whose range contains the
//     address and the next view is used; if there is none, the default location. Without these
//     attributes, all views are 0. If the entry starts and ends at the same address, and the list
//     has entries for other addresses, the location is unknown: another copy of the code, with
//     other values, may jump to this address.
//  6. Expressions are evaluated with symbols for the registers and the frame base. At the end,
//     there must be only one value: a constant, or an address in the file, or a register plus a
//     constant. Everything else is unknown: values that are loaded from memory (DW_OP_deref), entry
//     values, implicit pointers, DW_OP_call_frame_cfa outside of frame bases, and all other
//     calculations. A result with DW_OP_stack_value is also unknown if the parameter is larger than
//     an address.
//  7. A register plus 0 is the register. Constants have as many bytes as the parameter. A
//     constant of more than 8 bytes is unknown.
//  8. DW_OP_addr with DW_OP_stack_value is "addr"; the kernel starts at the symbol _stext, and a
//     file without this symbol at address 0. In a relocatable file, such a parameter is unknown,
//     because the distances of the sections aren't known. So is a parameter in memory at a fixed
//     address.
//  9. DW_OP_piece is possible in two cases: one piece that is the whole parameter, and two
//     registers, the first of which is used completely. The pieces together must be the whole
//     parameter. In big endian, the second register must also be used completely.
//  10. DW_OP_fbreg is "fb" if the function's frame base is DW_OP_call_frame_cfa. A constant may
//     be added to it. If the frame base is a register, it is this register. The frame base can
//     also be a location list.
//  11. Sites of one function at one address with the same parameters are one site.
package inline
