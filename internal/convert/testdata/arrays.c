// ARRAY: a node a dimension, the innermost first. Flexible and variable-length arrays have no elements. The index type
// is always int.
typedef int line[3];
typedef int matrix[2][3][4];
typedef int none[0];
typedef char big[0x10000];
struct flexible { int n; struct { short a, b; } items[]; };
struct two { matrix m; const char *names[5]; int (*rows)[7]; };
typedef int open[];
enum { LIMIT = 3 } limit;
typedef long bounded[LIMIT];
int vla(int n, int a[static n], int m[][5]) {
	struct local { int k; } v[n];
	int (*p)[n] = (void *)a;
	volatile char big[n * 2];
	v[0].k = big[0];
	return v[0].k + (*p)[0];
}
struct flexible *u1; struct two *u2; line *u3; none *u4; big *u5; open *u6; bounded *u7;
/* BTF:
enum { LIMIT = 3 } 4 unsigned
int vla(int n, int *a, int (*m)[5]);
struct flexible { int n @0; struct { short int a @0; short int b @16; } 4 items[0] @32; } 4
struct local { int k @0; } 4
struct two { matrix m @0; const char *names[5] @768; int (*rows)[7] @1088; } 144
typedef char big[65536];
typedef int line[3];
typedef int matrix[2][3][4];
typedef int none[0];
typedef int open[0];
typedef long int bounded[3];
*/
