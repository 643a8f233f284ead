// Package btftext reads and writes references: BTF as JSON, which is checked in and reviewed. So
// each function, type, member, parameter and enumerator begins a line.
//
//	{"kabi_reference":2,
//	"count":7,"sum":"1d8e4f02","types":[
//	{"kind":"func","name":"netif_rx","sum":"90a5c6d1","result":{"type":"int"},"params":[
//	  {"name":"skb","type":"*struct sk_buff"}
//	]},
//	{"kind":"struct","name":"device","sum":"52d0ec78","declared":true},
//	{"kind":"struct","name":"sk_buff","sum":"0cfae11b","size":40,"members":[
//	  {"at":0,"name":"next","type":"*struct sk_buff"},
//	  {"at":8,"type":"union","size":8,"members":[
//	    {"at":0,"name":"low","type":"u32"},
//	    {"at":0,"name":"name","type":"*const char"}
//	  ]},
//	  {"at":16,"bit":1,"bits":3,"name":"kind","type":"u32"},
//	  {"at":24,"name":"destructor","type":"*func","params":[
//	    {"type":"*struct sk_buff"}
//	  ]},
//	  {"at":32,"name":"cb","type":"[8]char"}
//	]},
//	…
//	]}
//
// A type is written as in Go: from the outside to the inside.
//
//	*T      a pointer to T
//	[8]T    an array
//	const T, volatile T, restrict T
//	type_tag(user) T, type_attr(user) T
//	void
//	struct S, union S, enum S, enum64 S, N    a type with a name; N is of any other kind
//	struct, union, enum, enum64, func         a type without a name, which the next fields describe
//	...                          the parameters that follow the last one of a variadic function
//
// Sizes and offsets are in bytes. The offset of a member of a type without a name is from the start
// of that type. "bit" is counted from the lowest bit that BTF counts; "bits" is the size of a
// bitfield or of an integer. If several types have the same name, all but the first have a number,
// as in struct S#2. They are in the order of their ids, and must differ in content: link.Link makes
// such BTF, and its order of ids depends only on the content.
//
// A reference is whole, or Read returns an error: "sum" is a hash of a type's other fields, and
// "count" is the number of types. So two changes of different types can be merged as text.
//
// FUNC and VAR are global, and the indices of all arrays have the type [Index], as in the BTF that
// inspect/kabi makes. Neither DATASEC nor DECL_TAG can be written. A type without a name is written
// wherever it is used, and so it is lost if it isn't.
package btftext
