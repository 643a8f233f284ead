/* gcc -std=gnu11 -O2 -gbtf -c -o quirks.o quirks.c
 * ld -r -o several.o quirks.o quirks.o   (of a copy without external names)
 * clang -target bpfeb -g -O2 -c -o big.o bpf.c
 */
extern int open[];
struct s { int a : 3; struct s *next; int __attribute__((btf_type_tag("t"))) *p; };
union u { long l; struct { char c; }; };
typedef int v4 __attribute__((vector_size(16)));
enum later; enum { ONE = 1 }; enum wide { W = 0x1ffffffffULL } wide;
static int table[3][4] __attribute__((section(".data..percpu"), used));
_Complex long double pair; v4 vector; __thread int mine; union u either;
static __attribute__((noinline, used)) int f(struct s *s, enum later *e) { return s->a + open[1]; }
static __attribute__((noinline)) int clone(struct s *s, int unused) { return s->a; }
static int g(struct s *s) { return clone(s, 3) + clone(s->next, 4) + f(s, 0); }
static int (*const volatile keep)(struct s *) __attribute__((used)) = g;
