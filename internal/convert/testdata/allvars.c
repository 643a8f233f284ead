// global_var: variables of all sections, constants too, but neither locals nor those that a register or a thread holds.
// A variable with the elements of a flexible array has the size of its type.
// features: default,global_var
int data = 1;
int zero;
static int local_static = 2;
const char text[] = "text";
static const struct table { int a; } table = { 1 };
__attribute__((section(".init.data"))) int init = 3;
extern int undefined;
struct flexible { int n; char rest[]; } flexible = { 3, "abc" };
__attribute__((weak)) int weak = 5;
int original = 6;
extern int other_name __attribute__((alias("original")));
__attribute__((visibility("hidden"))) int hidden = 7;
const int constant = 8;
static const char *const pointers[2] = { text, text + 1 };
__thread int of_thread = 9;
int *f(int n) {
	static int inside = 4;
	inside += n + undefined + table.a;
	return n > 9 ? (int *)pointers[n & 1] : n ? &local_static : &inside;
}
/* BTF:
int *f(int n);
section .bss { zero @0 4; } 4
section .data { hidden @4 4; original @8 4; weak @12 4; flexible @16 4; local_static @24 4; data @28 4; } 32
section .init.data { init @0 4; } 4
section .rodata { pointers @0 16; constant @16 4; text @20 5; } 25
struct flexible { int n @0; char rest[0] @32; } 4
struct table { int a @0; } 4
var global const const char text[5];
var global const int constant;
var global int data;
var global int hidden;
var global int init;
var global int original;
var global int weak;
var global int zero;
var global struct flexible flexible;
var static const const char *const pointers[2];
var static int local_static;
*/
/* skipped:
inside.0: no variable of file scope in the debug information
*/
