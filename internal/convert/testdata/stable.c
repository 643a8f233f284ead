// What TestStability edits. The markers are replaced.
// one way: it is edited by a test of its own
//@comment@
//@include@
enum mode { OFF, ON = 5 };
struct state { int a; enum mode m : 3; struct state *next; union { long l; char c[8]; } u; };
typedef int (*callback)(struct state *, enum mode);
extern void sink(long);
static inline long helper(struct state *s) { return s->u.l + s->a; }
//@static@
long work(struct state *s, callback f)
{
	//@body@
	return helper(s) + f(s, ON);
}
//@after@
/* BTF:
enum mode { OFF = 0, ON = 5 } 4 unsigned
long int work(struct state *s, callback f);
struct state { int a @0; enum mode m:3 @32; struct state *next @64; union { long int l @0; char c[8] @0; } 8 u @128; } 24
typedef int (*callback)(struct state *, enum mode);
*/
