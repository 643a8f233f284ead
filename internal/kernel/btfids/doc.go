// Package btfids fills in the section .BTF_ids of a kernel or module: the type ids by which the
// kernel's own code names types and functions (include/linux/btf_ids.h).
//
// The compiler leaves the section 0, except for flags. Each place has a symbol that says what
// belongs there:
//
//	__BTF_ID__<kind>__<name>__<number>  a word: the id of the struct, union, typedef or func
//	__BTF_ID__set__<name>               a word, the number of ids, which follow: sorted
//	__BTF_ID__set8__<name>              a word, the number of entries, and a word of flags; the
//	                                    entries follow, each an id and its own flags: sorted by id
//
// The rules are those of the kernel's tools/bpf/resolve_btfids/main.c, the same in Linux 6.1, 6.12
// and 7.2: a name means the first type of its kind and name, from the deepest base on; a name that
// is not found gets 0; sets are sorted as signed numbers. Input that this program refuses, or for
// which it would write outside of a set, is an error here.
//
// Once a set is sorted, its flags are no longer where their symbols are. Restore undoes that with
// the BTF whose ids the set has, so a file can be resolved again.
package btfids
