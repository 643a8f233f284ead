// Variables: those of section .data..percpu, where all of its input sections end up. Not those with a name of a kind
// that only the build knows, without size, or only declared.
#define P(s) __attribute__((section(".data..percpu" s)))
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
struct big { int a[20] @0; } 80
*/
