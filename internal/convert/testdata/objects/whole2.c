#define PERCPU __attribute__((section(".data..percpu"), used))
struct shared { int x; };
struct only_there { long w; };
typedef struct only_there there;
PERCPU static struct only_there same = { 4 };
static __attribute__((noinline)) int helper(there *t, int more) { return t->w + more; }
__attribute__((noinline)) int called(struct shared *p)
{
	volatile there t = same;
	return p->x + helper(&same, p->x) + helper((there *)&t, 7 * p->x);
}
