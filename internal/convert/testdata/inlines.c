// Functions without a symbol are none: inlined everywhere, or only declared. Identical functions that gcc folds keep
// both names.
// flags: -g -O2
extern void sink(int);
static inline int always(int x) { return x + 1; }
static int once(int x) { sink(x); return x; }
int declared(int);
int same_a(int x) { sink(x); sink(x + 1); return 3; }
int same_b(int x) { sink(x); sink(x + 1); return 3; }
int keep(int x) { return always(x) + once(x) + declared(x); }
/* BTF:
int keep(int x);
int same_a(int x);
int same_b(int x);
*/
