// Sizes that are known at run time alone: a struct with a variable-length array has size 0, and is kept.
// pahole: it writes some place for members whose place is computed
int f(int n, char *out) {
	struct vla { int a; char text[n]; int b; } v; v.a = 1;
	typedef int row[n];
	row r;
	r[0] = v.a;
	return out[r[0]] + sizeof v;
}
/* BTF:
int f(int n, char *out);
struct vla { int a @0; char text[0] @32; } 0
typedef int row[0];
*/
