// Package btftext reads and writes BTF as text, for references that are checked in. A reviewer can
// read the text. If one member of a struct changes, one line of the text changes, and the lines of
// the members that move.
//
//	# BTF as text, version 1, 64-bit, little-endian
//	index __ARRAY_SIZE_TYPE__;
//	func int netif_rx(struct sk_buff *skb);
//	func static void bpf_get(struct key *k) decl_tag(bpf_kfunc);
//	var long unsigned int jiffies;
//	section '.data..percpu' 4096 {
//	  0      8      struct task_struct *current_task;
//	};
//	struct device;
//	struct sk_buff 40 {
//	  0      struct sk_buff *next;
//	  8      union 8 {
//	  8        struct 8 {
//	  8          u32 low;
//	  12         u32 high;
//	           };
//	  8        const char *name;
//	         };
//	  16.0   unsigned char urgent : 1;
//	  16.1   unsigned char kind : 3;
//	  24     void (*destructor)(struct sk_buff *);
//	  32     char cb[8];
//	};
//	struct walk#2 8 {
//	  0      type_tag(user) void *arg;
//	};
//	enum state 4 signed {
//	  FAILED = -1,
//	};
//	typedef unsigned int u32;
//	int 'unsigned int' 4;
//	int 'char' 1 signed;
//	float 'double' 8;
//	end 12;
//
// The last line has the number of definitions, so that a deleted line is noticed.
//
// A declaration is written as in C, with these additions and differences:
//
//   - Sizes and offsets are in bytes. The offset of a bitfield is BYTE.BIT, counted from the lowest
//     bit that BTF counts. In an anonymous struct or union, offsets are from the start of the
//     outermost struct, unless there is a pointer or a function between the two.
//   - Qualifiers before the first type, and those between a name and its array or function, are in
//     the order of the BTF, from the name on; those after a * are in the opposite order. So
//     v const[4] is a constant array. Type tags and type attributes are written like qualifiers.
//   - The type of an array's indices has no meaning in C. The line index has the type that most
//     arrays have. Arrays with another one name it, as in cb[8 : int].
//   - If several types have the same name, all but the first have a number, as in struct walk#2.
//     They are numbered in the order of their content. A FWD comes after the definitions.
//   - Names that are not identifiers, or are words of C, are in single quotes. In them, \', \\ and
//     \x with two digits are one byte.
//   - enum64 is an ENUM64. Its references are written as enum.
//   - The linkage is global unless there is static or extern.
//   - A bitfield has its size after a colon. A struct's KFlag is set if it has a bitfield.
//   - An INT may end with bits N (if it doesn't fill its size) and at N (its bit offset).
//
// The text depends only on the content of the BTF, not on the ids or the order of its types: types
// are sorted by kind and name, and types of equal content are written once. Pointers, arrays,
// qualifiers, type tags and prototypes are written only as parts of other types, so those that no
// type uses are lost, and so are anonymous types that only these use. Everything else is kept:
// package diff finds no difference between BTF and what Read makes of its text.
//
// These files write: write.go (the order of the text), check.go (which BTF is refused), number.go
// (the numbers of types with equal names), define.go, body.go and declare.go (the text of a type).
// These files read: lex.go (tokens), read.go, readlines.go, readbody.go and readdeclare.go
// (definitions), graph.go (the types read so far). Both use names.go (words and names).
package btftext
