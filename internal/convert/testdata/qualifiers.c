// Qualifiers are nodes of their own. _Atomic T is T.
// pahole: _Atomic stops it
// one way: DWARF 2 has no restrict, and gcc writes other qualifiers into type units
typedef const int ci;
typedef volatile int vi;
typedef const volatile int cvi;
typedef int *restrict rp;
typedef const char *const ccp;
typedef int (*const fp)(const void *restrict, volatile int);
typedef _Atomic int ai;
typedef _Atomic(long) *ap;
typedef const _Atomic int cai;
typedef void nothing;
typedef const void const_nothing;
typedef const int array_of_const[3];
struct s { _Atomic unsigned a; struct s *_Atomic next; _Atomic int x[2]; };
struct s use;
struct { ci a; vi *b; cvi *c; rp d; ccp *e; fp *f; ai g; ap h; cai i; nothing *j; const_nothing *k; array_of_const *l; } *u1;
/* BTF:
struct s { unsigned int a @0; struct s *next @64; int x[2] @128; } 24
typedef const char *const ccp;
typedef const int array_of_const[3];
typedef const int cai;
typedef const int ci;
typedef const volatile int cvi;
typedef int (*const fp)(const void *restrict, volatile int);
typedef int *restrict rp;
typedef int ai;
typedef long int *ap;
typedef void const_nothing;
typedef void nothing;
typedef volatile int vi;
*/
