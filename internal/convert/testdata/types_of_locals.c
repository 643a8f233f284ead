// Only what is reachable from names stays: named types of locals do, but not a base type, pointer or array that nothing
// but a local uses.
// bases
// pahole: it keeps unreachable types
struct used_by_local { char c; };
int f(void) {
	struct used_by_local s = { 1 };
	float *volatile nowhere = 0;
	double none[3] = { 0 };
	return s.c + (nowhere == 0) + (int)none[1];
}
/* BTF:
int "char" 1 signed
int "int" 4 signed
int f(void);
struct used_by_local { char c @0; } 1
*/
