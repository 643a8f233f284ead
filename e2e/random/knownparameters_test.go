package random

// knownOnStack has a function of which the compiler makes a clone without the parameters whose
// values are known. One of these is an address on the stack.
const knownOnStack = `static long sink;
long outside(void *);
static __attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g,
	long h, void *address, long k)
{ sink += a + b + c + d + e + f + g + h + k; outside(&k); return sink; }
long calls(long k)
{ return many(k, k, k, k, k, k, k, k, &sink, k) + many(k, 2, 3, 4, 5, 6, 7, k, &sink, 4); }
`

// packedByValue has a function that takes a packed struct by value, after as many parameters as
// registers hold.
const packedByValue = `struct pk { char a; long b[3]; int c; } __attribute__((packed));
struct pk v;
__attribute__((noinline)) int by_value(int a, int b, int c, int d, int e, int f, struct pk p)
{ return p.c + a + b + c + d + e + f; }
int calls(void) { return by_value(1, 2, 3, 4, 5, 6, v); }
`
