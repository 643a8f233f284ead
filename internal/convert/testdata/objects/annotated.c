// Annotations of clang and of gcc 16: declaration tags on everything that can have one, type tags behind pointers, in
// the order of the source.
#define decl(s) __attribute__((btf_decl_tag(s)))
#define type(s) __attribute__((btf_type_tag(s)))
struct decl("on struct") tagged { int a decl("on member") decl("again"); int type("inner") *p; } ;
typedef int alias decl("on typedef");
int type("first") type("second") *variable decl("on variable") __attribute__((section(".data..percpu"))) = 0;
int decl("on function") function(struct tagged *t, alias decl("on parameter") n) { return t->a + n + *variable; }
int type("outer") *type("middle") *returns(void type("user") *v) { (void)v; return 0; }
