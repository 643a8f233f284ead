struct inner { int c[3]; };
struct shared { int a : 3; struct inner *p; };
extern int helper(struct shared *);
int counter;
__attribute__((section("classifier"))) int prog(struct shared *s) { return counter + helper(s); }
