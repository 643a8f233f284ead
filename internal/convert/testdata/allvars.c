// global_var: variables of all sections, constants too, but neither locals nor those that a register or a thread holds.
// features: default,global_var
int data = 1;
int zero;
static int local_static = 2;
const char text[] = "text";
static const struct table { int a; } table = { 1 };
__attribute__((section(".init.data"))) int init = 3;
extern int undefined;
int *f(int n) {
	static int inside = 4;
	inside += n + undefined + table.a;
	return n ? &local_static : &inside;
}
/* BTF:
int *f(int n);
section .bss { zero @0 4; } 4
section .data { local_static @4 4; data @8 4; } 12
section .init.data { init @0 4; } 4
section .rodata { text @0 5; } 5
struct table { int a @0; } 4
var global const const char text[5];
var global int data;
var global int init;
var global int zero;
var static int local_static;
*/
/* skipped:
inside.0: variable without debug information
*/
