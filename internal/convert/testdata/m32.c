// 32-bit code: pointers and longs have 4 bytes, and DWARF addresses too.
// flags: -g -O1 -m32
// features: default,global_var
struct list { struct list *next; long value; long long wide; };
struct list head = { &head, 1, 2 };
enum wide { W = 1LL << 40 };
enum wide e;
int sum(struct list *l, int (*f)(long)) { return f(l->value) + e; }
/* BTF:
enum wide { W = 1099511627776 } 8 unsigned
int sum(struct list *l, int (*f)(long int));
section .bss { e @0 8; } 8
section .data { head @0 16; } 16
struct list { struct list *next @0; long int value @32; long long int wide @64; } 16
var global enum wide e;
var global struct list head;
*/
