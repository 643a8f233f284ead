// Types, prototypes and functions of nested (GNU C) functions, and a static variable that hides in one.
// pahole: it doesn't look for functions inside functions
int outer(int n) {
	struct in_outer { int v; } s = { n };
	__attribute__((noinline)) int nested(int k, struct in_outer *p) { struct in_nested { int w; } t = { k }; return t.w + n + p->v; }
	return nested(n, &s) + nested(2, &s);
}
/* BTF:
int nested(int k, struct in_outer *p);
int outer(int n);
struct in_nested { int w @0; } 4
struct in_outer { int v @0; } 4
*/
