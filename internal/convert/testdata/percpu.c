// Variables: those of section .data..percpu, where all of its input sections end up. Not those with a name of a kind
// that only the build knows, without size, or only declared.
#define P(s) __attribute__((section(".data..percpu" s)))
// pahole: it drops variables whose array gets its size after the declaration
P("") int counter = 1;
P("") static long hidden = 2;
P("..shared_aligned") _Alignas(64) struct big { int a[20]; } aligned;
P("..read_mostly") struct big *pointer;
P("") int __UNIQUE_ID_x = 3;
P("") struct {} empty;
extern P("") int elsewhere;
int ordinary = 4;
extern P("") int sized[];
P("") int sized[5];
long *f(void) { elsewhere = 1; return &hidden; }
/* BTF:
long int *f(void);
section .data..percpu { sized @0 20; hidden @24 8; counter @32 4; pointer @40 8; aligned @64 80; } 144
struct big { int a[20] @0; } 80
var global int counter;
var global int sized[5];
var global struct big *pointer;
var global struct big aligned;
var static long int hidden;
*/
/* skipped:
empty: size 0
*/
