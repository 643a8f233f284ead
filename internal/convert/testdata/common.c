// global_var: tentative definitions, which have no section before the link.
// features: default,global_var
// flags: -g -O1 -fcommon
int tentative;
struct pair { int a, b; } pair;
static int local;
int defined = 1;
int *f(int n) { local += n; return n ? &local : &tentative; }
/* BTF:
int *f(int n);
section .bss { local @0 4; pair @8 8; tentative @16 4; } 20
section .data { defined @0 4; } 4
struct pair { int a @0; int b @32; } 8
var global int defined;
var global int tentative;
var global struct pair pair;
var static int local;
*/
