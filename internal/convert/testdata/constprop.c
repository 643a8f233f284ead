// true_signature: parameters of which every caller passes the same constant. The function itself may be there too, for others.
// features: default,true_signature
// flags: -g -O2 -fipa-cp-clone --param=ipa-cp-eval-threshold=1 -fno-ipa-icf -fno-partial-inlining
// pahole: it keeps the last parameters of clones, and drops functions that have clones
extern int sink(int);
struct pair { int a, b; };
static __attribute__((noinline)) int constant_goes(int a, struct pair *p, int c) { sink(a); sink(c + p->a); return a * c; }
int callers(int x, struct pair *p) { return constant_goes(x, p, 5) + constant_goes(x + 1, p + 1, 5); }
static __attribute__((noinline)) int both(int a, int n) {
	for (int i = 0; i < n; i++)
		a += sink(a) + sink(i);
	return a;
}
int (*pointer)(int, int) = both;
int constant(int x) { return both(x, 4) + both(x + 1, 4) + both(x + 2, 4); }
/* BTF:
int both(int a, int n);
int both.constprop.0(int a);
int callers(int x, struct pair *p);
int constant(int x);
int constant_goes.constprop.0(int a, struct pair *p);
struct pair { int a @0; int b @32; } 8
*/
