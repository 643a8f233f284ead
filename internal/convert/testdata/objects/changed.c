/* Static functions whose parameters clang changes, as it may when it sees all callers. */
#define NI __attribute__((noinline))
struct pair { long first, second; };
typedef const struct pair const_pair;
union big { long a; char buf[24]; };
struct wide { int a, b, c, d; };
extern long sink(long);

/* the middle one goes */
static NI int middle(int a, int unused, int c) { return a * c - a - c; }
/* a keeps one half of itself; b is whole */
static NI long half(struct pair a, struct pair b, int i) { return a.first + b.first + b.second + i; }
static NI long second_half(struct pair a, int i) { return a.second * i; }
static NI long half_of_typedef(const_pair a, int i) { return a.first * i; }
/* half a word: no member begins a register */
static NI long word_of_wide(struct wide w, int i) { return w.c * i; }
/* on the stack */
static NI int many(int a, int b, int c, int d, int e, int f, int g, int h, int i) { return a * i - a - i; }
/* in memory by the ABI */
static NI long memory(union big u, int unused, int x) { return u.a + x; }
static NI long first_goes(long unused, long b, long c) { return sink(b) * c; }
static NI long all_go(long a, long b) { return sink(0); }
static NI long variadic(long a, long unused, ...) { return sink(a) * a; }
/* nothing goes */
static NI long stays(long a, struct pair *p) { return sink(a) + p->second; }
NI long exported(long a, long unused, long c) { return a * c; }

struct pair p1, p2; struct wide w; union big u; int i, j; long l;
void _start(void)
{
	l = middle(i, j, i + 1) + half(p1, p2, i) + second_half(p1, i) + half_of_typedef(p2, j) + word_of_wide(w, i) +
		many(i, j, i, j, i, j, i, j, i) + memory(u, i, j) + first_goes(i, j, l) + all_go(i, j) + variadic(l, 2) + stays(l, &p1) + exported(1, 2, l);
	l += exported(i, j, l);
}
NI long sink(long v) { return v + l; }
