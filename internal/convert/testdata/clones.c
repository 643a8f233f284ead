// Clones under a suffix: .constprop and .isra change the interface, so that the source's prototype is wrong for them;
// .part and .cold are no functions of their own. A function that is split into a hot and a cold part has no low_pc.
// flags: -g -O2 -fno-ipa-icf -fno-partial-inlining
// pahole: it takes split functions to lie at address 0, and then doesn't see that they are clones
extern void sink(int);
extern void __attribute__((cold)) rare(int);
struct pair { int a, b; };
static __attribute__((noinline)) int constprop(int a, int b) { sink(a); sink(b); return a * b; }
static __attribute__((noinline)) int isra(struct pair *p, int unused) { sink(p->a); return p->a; }
static __attribute__((noinline)) int isra_split(struct pair *p, int unused) { sink(p->a); if (p->a == 7) { rare(1); rare(2); } return p->a; }
int split(int x) { sink(x); if (x > 1000) { rare(x); rare(2); } return x + 1; }
int callers(int x, struct pair *p) { return constprop(x, 5) + constprop(x + 1, 5) + isra(p, 3) + isra(p + 1, 3) + isra_split(p, 1) + isra_split(p + 1, 2) + split(x); }
/* BTF:
int callers(int x, struct pair *p);
int split(int x);
struct pair { int a @0; int b @32; } 8
*/
/* skipped:
constprop: optimized parameters
isra: optimized parameters
isra_split: optimized parameters
*/
