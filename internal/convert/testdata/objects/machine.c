// One of each construct whose encoding in DWARF or BTF depends on the machine: byte order, size of an address, form of
// relocations, bit-fields.
struct bits { unsigned a : 3, b : 7; long long c : 33; char tail; };
struct list { struct list *next; long value; };
enum wide { WIDE = 1LL << 40, ZERO = 0 };
enum negative { MINUS = -2, PLUS };
typedef int (*handler)(struct list *, enum wide, ...);
struct list head __attribute__((section(".data..percpu"))) = { &head, 1 };
struct bits table[3][2];
enum negative sign;
static __attribute__((noinline, section(".text.other"))) int other(struct list *l) { return l->value; }
int first(handler h, struct bits b) { return h(&head, WIDE, b.a) + other(head.next); }
double second(_Bool t) { return t ? 1 : table[1][1].b + sign; }
