// Structs and unions: members in the order of the source, unnamed aggregates within them, self references, and
// aggregates without members.
struct list { struct list *next, **prev; };
struct outer {
	struct { int a; union { int b; struct { char c, d; }; }; };
	struct inner { long x; } i;
	union { void *p; struct inner *q; } u;
	struct {} empty;
	enum { ONE = 1, TWO } e;
};
union all { struct list l; struct outer *o; int i[4]; };
struct none {};
struct __attribute__((packed, aligned(2))) pack { char a; int b; short c; };
struct aligned { char a; _Alignas(64) int b; };
typedef struct { int x, y; } point;
typedef union { point p; long l; } number;
struct ring_a { struct ring_b *b; };
struct ring_b { struct ring_a *a; struct ring_b (*fn)(struct ring_a *); };
struct list use;
struct outer *u1; union all *u2; struct none *u3; struct pack *u4; struct aligned *u5; number *u6; struct ring_a *u7;
/* BTF:
enum { ONE = 1, TWO = 2 } 4 unsigned
struct aligned { char a @0; int b @512; } 128
struct inner { long int x @0; } 8
struct list { struct list *next @0; struct list **prev @64; } 16
struct none { } 0
struct outer { struct { int a @0; union { int b @0; struct { char c @0; char d @8; } 2 @0; } 4 @32; } 8 @0; struct inner i @64; union { void *p @0; struct inner *q @0; } 8 u @128; struct { } 0 empty @192; enum { ONE = 1, TWO = 2 } 4 unsigned e @192; } 32
struct pack { char a @0; int b @8; short int c @40; } 8
struct ring_a { struct ring_b *b @0; } 8
struct ring_b { struct ring_a *a @0; struct ring_b (*fn)(struct ring_a *) @64; } 16
typedef struct { int x @0; int y @32; } 8 point;
typedef union { point p @0; long int l @0; } 8 number;
union all { struct list l @0; struct outer *o @0; int i[4] @0; } 16
*/
