// Package btfids fills in the section .BTF_ids of a kernel or module. The section holds the type
// ids by which the kernel's own code refers to types and functions (include/linux/btf_ids.h).
//
// The compiler fills the section with zeros, except for flags. Symbols say what each word of the
// section is for:
//
//	__BTF_ID__<kind>__<name>__<number>  one word: the id of a struct, union, typedef or func
//	__BTF_ID__set__<name>               one word: the number of ids; the ids follow, sorted
//	__BTF_ID__set8__<name>              two words: the number of entries and the set's flags;
//	                                    the entries follow, sorted by id, each an id and flags
//
// The rules are those of the kernel's tools/bpf/resolve_btfids/main.c, which are the same in Linux
// 6.1, 6.12 and 7.2: a name refers to the first type of that kind and name, starting at the deepest
// base; a name that is not found gets the id 0; sets are sorted by id as a signed number. Input
// that resolve_btfids rejects, or that makes it write outside a set, is an error here.
//
// Sorting a set moves its flags away from their symbols. Restore moves them back, so that a file
// can be resolved again. Restore needs the BTF to which the ids in the set refer.
package btfids
