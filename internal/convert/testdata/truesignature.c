// true_signature: functions whose symbol has a suffix have that name and the parameters that are left. Where a struct's member came in the
// place of a pointer to it, the parameters behind are in registers that nobody expects; the member has no name in DWARF.
// pahole: it loses clones whose last parameter stays, and keeps the last parameters of the others; split functions lie at address 0
// features: default,true_signature
// flags: -g -O2 -fno-ipa-icf -fno-partial-inlining -fno-ipa-cp
extern int sink(int);
extern void __attribute__((cold)) rare(int);
struct pair { int a, b; };
static __attribute__((noinline)) int first_goes(int unused, int b) { return sink(b) + b; }
static __attribute__((noinline)) int last_goes(int a, int unused) { return sink(a) + a; }
static __attribute__((noinline)) int split(struct pair *p, int unused, int c) { sink(p->a + c); if (c == 7) { rare(1); rare(2); } return p->b; }
static __attribute__((noinline)) int value_of_pointer(struct pair *p, int k) { return sink(p->a) + k; }
static __attribute__((noinline)) int value_last(int k, struct pair *p) { return sink(p->a) + k; }
static __attribute__((noinline)) int half_of_struct(struct pair p, int k) { return sink(p.b) + k; }
static __attribute__((noinline)) int stays(int a, int b) { return sink(a) + b; }
int callers(int x, struct pair *p) {
	return first_goes(x, x + 1) + first_goes(x + 5, x) + last_goes(x, x - 1) + last_goes(x + 3, x + 2) +
		split(p, x + 1, x) + split(p + 1, x + 2, x + 3) + value_of_pointer(p, x) + value_of_pointer(p + 1, x + 7) +
		value_last(x, p) + value_last(x + 2, p + 3) + half_of_struct(p[1], x) + half_of_struct(p[2], x + 1) + stays(x, x + 1) + stays(x + 1, x);
}
/* BTF:
int callers(int x, struct pair *p);
int first_goes.isra.0(int b);
int last_goes.isra.0(int a);
int split.isra.0(struct pair *p, int c);
int stays(int a, int b);
int value_last.isra.0(int k);
struct pair { int a @0; int b @32; } 8
*/
/* skipped:
half_of_struct.isra.0: unexpected register
value_of_pointer.isra.0: unexpected register
*/
