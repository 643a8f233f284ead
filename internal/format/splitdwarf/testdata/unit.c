// A unit with what split DWARF refers to by index: strings, addresses, location and range lists.
struct list { struct list *next; long value; enum { FEW, MANY } kind; };
struct list head __attribute__((section(".data..percpu"))) = { &head, 1 };
int outside(struct list *l, int n);
static inline int add(struct list *l, int n) { l->value += n; return outside(l, n); }
int first(struct list *l, int n) { n = add(l, n); return add(l->next, n) * n; }
__attribute__((section(".text.other"))) int other(struct list *l) { return outside(l, l->value); }
