// See parts1.c.
struct shared { struct shared *next; unsigned char flags : 3; struct part { long a, b; union { int i; float f; } u; } part[4]; };
typedef struct { struct shared *s; enum kind { ONE, TWO, THREE } k; } handle;
struct differs { long there; char more[8]; };
struct only_there { struct only_here *other; };
struct also_uses_differs { struct differs *d; };
__attribute__((section(".data..percpu"), used)) static struct only_there variable_two;
__attribute__((used, noinline)) static int same_name(struct differs *d) { return d->there; }
__attribute__((used, noinline)) long elsewhere(handle *h, struct shared *s, struct differs *d) { return h->k + s->flags + d->there; }
__attribute__((used)) int second(struct also_uses_differs *a) { return same_name(a->d); }
