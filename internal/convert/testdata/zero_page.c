// Several sections start at offset 0 of an object file: functions and variables in each are told apart, and a function
// of another section than .text is one like others. A weak definition has its DWARF whether it wins or not.
// features: default,global_var
#define S(s) __attribute__((section(s)))
S(".init.text") int in_init(char c) { return c; }
S(".text.hot") long in_hot(long l) { return l; }
int plain(short s) { return s; }
__attribute__((weak)) int weak_one(int w) { return w; }
S(".data.a") int a = 1;
S(".data.b") long b = 2;
S(".data.c") struct pair { int x, y; } c = { 1, 2 };
/* BTF:
int in_init(char c);
int plain(short int s);
int weak_one(int w);
long int in_hot(long int l);
section .data { c @0 8; b @8 8; a @16 4; } 20
struct pair { int x @0; int y @32; } 8
var global int a;
var global long int b;
var global struct pair c;
*/
