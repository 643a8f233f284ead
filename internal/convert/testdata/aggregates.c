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
/* BTF:
struct list { struct list *next @0; struct list **prev @64; } 16
*/
