struct only_here { int u; };
int inlined(struct only_here *p) { return p->u; }
