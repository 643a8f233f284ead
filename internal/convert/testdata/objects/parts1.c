// With parts2.c: types that two units share, one that they define differently, one that either only declares, and
// functions and variables in each.
struct shared { struct shared *next; unsigned char flags : 3; struct part { long a, b; union { int i; float f; } u; } part[4]; };
typedef struct { struct shared *s; enum kind { ONE, TWO, THREE } k; } handle;
struct differs { int here; };
struct only_here { struct only_there *other; };
struct uses_differs { struct differs *d; };
extern long elsewhere(handle *h, struct shared *s, struct differs *d);
__attribute__((section(".data..percpu"), used)) struct only_here variable;
__attribute__((used, noinline)) static int same_name(struct differs *d) { return d->here; }
__attribute__((used)) long first(handle *h, struct uses_differs *u) { return elsewhere(h, h->s, u->d) + same_name(u->d); }
