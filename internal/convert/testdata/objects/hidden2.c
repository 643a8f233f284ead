struct only_hidden;
extern int concealed(struct only_hidden *);
extern struct only_hidden variable;
static __attribute__((noinline)) int helper(struct only_hidden *p, int more) { return concealed(p) + more; }
int start(int argc) { return helper(&variable, argc) - helper(0, 7 * argc); }
