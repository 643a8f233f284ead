// gcc and clang allow $ and UTF-8 in names, but the kernel doesn't. Functions with such names are
// left out, because no tracer could attach to them by another name. Other names are spelled.
// pahole: it writes such names unchanged
struct s$t { int a$; union { int ä; int b; }; } v;
typedef struct s$t *p$;
enum e$ { ONE$ = 1, ZWÖLF = 12 };
int f$n(struct s$t *p) { return p->a$; }
int fün(struct s$t *p) { return p->b; }
int g(p$ arg$, enum e$ e) { return arg$->a$ + e; }
/* BTF:
enum e_ { ONE_ = 1, ZW__LF = 12 } 4 unsigned
int g(p_ arg_, enum e_ e);
struct s_t { int a_ @0; union { int __ @0; int b @0; } 4 @32; } 8
typedef struct s_t *p_;
*/
/* skipped:
f$n: function name is not an identifier
fün: function name is not an identifier
*/
