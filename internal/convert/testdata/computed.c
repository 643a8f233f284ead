// Sizes that are known at run time alone: a struct with a variable-length array is kept, with
// the members before that and a size that holds them, for the kernel refuses members beyond the end.
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
struct vla { int a @0; char text[0] @32; } 4
typedef int row[0];
*/
