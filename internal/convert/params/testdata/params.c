/* Functions whose parameters the compiler leaves alone, drops, replaces, or
 * passes in ways that a tracer does not expect. */
#define NI __attribute__((noinline))
#define KEEP __attribute__((noinline, noclone, used))

struct pair { long a, b; };
struct big { long a, b, c; };
struct __attribute__((packed)) packed { char c; long l; };
union word { long a; char b[8]; };

int ext(int, int);
int sink(const void *);
long lsink(long);

KEEP int plain(int a, int b, long c) { return ext(a, b) + c; }
KEEP int unused(int a, int b) { return ext(a, 1); }

static NI int isra_first(int a, int b) { return ext(b, 2) + b; }
int call_isra_first(int x) { return isra_first(x, x + 1) + isra_first(3, x); }

static NI int isra_last(int a, int b) { return ext(a, 2) + a; }
int call_isra_last(int x) { return isra_last(x, x + 1) + isra_last(x + 3, x); }

static NI int isra_deref(struct pair *p, int k) { return ext(p->a, k); }
int call_isra_deref(struct pair *p, int x) { return isra_deref(p, x + 1) + isra_deref(p, x); }

static NI int constp(int a, int b, int c)
{
	int s = 0;
	for (int i = 0; i < a; i++)
		s += ext(b, i) ^ c;
	return s;
}
int call_constp(int x) { return constp(10, x, x + 2) + constp(10, x + 1, x); }

KEEP long by_pair(struct pair p, int k) { return lsink(p.a) + lsink(p.b) + k; }
KEEP long by_big(struct big p, int k) { return lsink(p.a) + lsink(p.b) + k; }
KEEP long by_union(union word p, int k) { return lsink(p.a) + lsink(k) + k; }
KEEP double floating(double d, int k) { return d + ext(k, k) + d; }
KEEP long many_packed(int a, int b, int c, int d, int e, int f, struct packed g)
{
	return ext(a, b) + ext(c, d) + ext(e, f) + lsink(g.l);
}
KEEP long many_plain(int a, int b, int c, int d, int e, int f, int g, struct pair h)
{
	return ext(a, b) + ext(c, d) + ext(e, f) + lsink(g) + lsink(h.a);
}
KEEP long wide(__int128 x, int k) { return lsink(x) + lsink(x >> 64) + k; }
KEEP int address_taken(int a) { return sink(&a); }

KEEP int ext(int a, int b) { return a * b; }
KEEP int sink(const void *p) { return p != 0; }
KEEP long lsink(long l) { return l; }
void _start(void) { }
