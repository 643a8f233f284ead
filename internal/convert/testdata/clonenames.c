// true_signature: clones that have all parameters, and functions beside their clones.
// features: default,true_signature
// flags: -g -O2 -fno-ipa-icf -fno-partial-inlining
extern int sink(int);
struct pair { int a, b; };
static __attribute__((noinline)) int result_goes(int a, struct pair *p) { sink(a); sink(p->a + p->b); p->a = a; return a + 1; }
static __attribute__((noinline)) int stays(int a, int b) { return sink(a) + b; }
static __attribute__((noinline)) int unused_but_there(int a, int b) { return sink(a); }
static int (*volatile taken)(int, int) = unused_but_there;
static inline int folded(int a) { return sink(a + 3); }
void weak_one(int a) { sink(a); }
void other(int a) __attribute__((weak, alias("weak_one")));
int callers(int x, struct pair *p) {
	result_goes(x, p);
	result_goes(x + 3, p + 1);
	return stays(x, x + 1) + stays(x + 1, x) + taken(x, 1) + folded(x);
}
/* BTF:
int callers(int x, struct pair *p);
int result_goes.isra.0(int a, struct pair *p);
int stays(int a, int b);
int unused_but_there(int a, int b);
struct pair { int a @0; int b @32; } 8
void weak_one(int a);
*/
