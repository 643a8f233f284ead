// Prototypes: parameters with names or without (such functions are left out), varargs, none.
// Functions are static linkage whatever the source says.
// Array and function parameters are pointers.
typedef int (*handler)(int, void *data);
typedef void (*no_params)(void);
typedef int (*old_style)();
typedef int fn_type(long);
int variadic(const char *fmt, ...) { return 0; }
int unnamed(int, long b) { return b; }
static int __attribute__((noinline, used)) local(int a[], fn_type f) { return a[0]; }
void nothing(void) {}
handler chooser(int which, handler (*table[2])(no_params)) { return 0; }
int kr(a, b) int a; char *b; { return a; }
fn_type later;
int later(long x) { return x; }
old_style u1;
/* BTF:
handler chooser(int which, handler (**table)(no_params));
int kr(int a, char *b);
int later(long int x);
int local(int *a, fn_type *f);
int variadic(const char *fmt, ...);
typedef int (*handler)(int, void *);
typedef int (*old_style)(...);
typedef int fn_type(long int);
typedef void (*no_params)(void);
void nothing(void);
*/
/* skipped:
unnamed: unnamed parameter
*/
