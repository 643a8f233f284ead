// Three files that link-time optimization makes one of: global functions and variables become local, static ones of one
// name get a number, and the source files' names are gone.
#define PERCPU __attribute__((section(".data..percpu"), used))
struct shared { int x; };
struct only_here { int u; };
extern int called(struct shared *);
extern int inlined(struct only_here *);
PERCPU static int same = 1;
PERCPU struct only_here global = { 3 };
__attribute__((used)) int start(void)
{
	struct shared v = { same };
	return called(&v) + inlined(&global);
}
