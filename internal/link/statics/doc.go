// Package statics tells static variables of one name apart whose source files have one base name
// too, such as d1/core.c and d2/core.c. The symbol table knows files by their base names only, and
// the objects of the graph have neither paths nor addresses. But the linked file's DWARF has the
// address of each variable, in the unit that defines it. A hash of that unit's types and of the
// variable, which the unit's object file gives as well, goes into the facts.
//
// BTF that a compiler wrote has no addresses, but its units are in the order of the symbol table's
// STT_FILEs, and each variable's symbol follows one.
//
// Few files have such variables. All others are not read.
package statics
