// A packed struct by value may lie anywhere on the stack. Whether a struct is packed is known from
// its definition, which may be in a type unit, and whose offsets may be expressions.
// pahole: it does not look for the struct through typedefs and qualifiers (by_typedef)
// flags: -O2 -g

struct packed {
	char c;
	long l[3];
} __attribute__((packed));

typedef const struct packed packed_t;

struct apart {
	char c;
	enum { A, B } e __attribute__((packed));
	union { int i; } u[2] __attribute__((packed));
} __attribute__((packed));

struct loose {
	char c;
	long l[3];
};

struct packed packed_v;
struct apart apart_v;
struct loose loose_v;

__attribute__((noinline)) long by_tag(int a, int b, int c, int d, int e, int f, struct packed p)
{
	return a + b + c + d + e + f + p.l[1];
}

__attribute__((noinline)) long by_typedef(int a, int b, int c, int d, int e, int f, packed_t p)
{
	return a + b + c + d + e + f + p.l[2];
}

__attribute__((noinline)) long by_bytes(int a, int b, int c, int d, int e, int f, struct apart p)
{
	return a + b + c + d + e + f + p.u[1].i;
}

__attribute__((noinline)) long not_packed(int a, int b, int c, int d, int e, int f, struct loose p)
{
	return a + b + c + d + e + f + p.l[1];
}

long caller(void)
{
	return by_tag(1, 2, 3, 4, 5, 6, packed_v) + by_typedef(1, 2, 3, 4, 5, 6, packed_v) +
		by_bytes(1, 2, 3, 4, 5, 6, apart_v) + not_packed(1, 2, 3, 4, 5, 6, loose_v);
}

/* BTF:
enum { A = 0, B = 1 } 4 unsigned
long int caller(void);
long int not_packed(int a, int b, int c, int d, int e, int f, struct loose p);
struct apart { char c @0; enum { A = 0, B = 1 } 4 unsigned e @8; union { int i @0; } 4 u[2] @40; } 13
struct loose { char c @0; long int l[3] @64; } 32
struct packed { char c @0; long int l[3] @8; } 25
typedef const struct packed packed_t;
*/
/* skipped:
by_bytes: uncertain parameter location
by_tag: uncertain parameter location
by_typedef: uncertain parameter location
*/
