// Linked with descriptors2.c for an ABI in which function symbols point to descriptors.
struct early {
	int e;
};
static __attribute__((noipa, used)) long helper(struct early *p, int n) { return p->e + n; }
int setup(struct early *p) { return helper(p, 1); }
__attribute__((weak)) int lost(int weak_name) { return weak_name; }
static __attribute__((noinline)) int cloned(int *p, int n, int k)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += p[i] * k;
	return s;
}
int user(int *p, int n) { return cloned(p, n, 7) + cloned(p, n + 1, 7); }
