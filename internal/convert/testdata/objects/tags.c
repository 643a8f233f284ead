// Types that have one name and one shape in units 1 to 3 but for their annotations. Unit 1 and 3 have the same, of unit 2
// all differ in one thing.
#define decl(s) __attribute__((btf_decl_tag(s)))
#define type(s) __attribute__((btf_type_tag(s)))
#if UNIT == 2
#define DIFFER(a, b) b
#else
#define DIFFER(a, b) a
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

typedef int number;
struct type_tag_or_none { number DIFFER(type("user"), ) *p; };
struct type_tag_text { number DIFFER(type("user"), type("rcu")) *p; };
struct long_type_tag { number DIFFER(type("a long text that ends in a"), type("a long text that ends in b")) *p; };
struct type_tag_order { number DIFFER(type("one") type("two"), type("two") type("one")) *p; };
struct type_tag_place { number DIFFER(type("user"), ) *DIFFER(, type("user")) *p; };
struct type_tag_inside { struct { int (*call)(number DIFFER(type("user"), type("rcu")) *p); } in[2]; };
struct tag_of_void { void DIFFER(type("user"), type("rcu")) *p; };
struct member_decl_tag { number a DIFFER(decl("on a"), ), b DIFFER(, decl("on a")); };
struct member_decl_tag_text { number a DIFFER(decl("here"), decl("there")); };
struct nested_decl_tag { struct { number a DIFFER(decl("here"), ); } in DIFFER(decl("in"), decl("in")); };
struct DIFFER(decl("marked"), ) struct_decl_tag { number a; };
struct DIFFER(decl("one") decl("two"), decl("two") decl("three")) struct_decl_tags { number a; };
union DIFFER(decl("marked"), decl("remarked")) union_decl_tag { number a; };
typedef number typedef_decl_tag DIFFER(decl("marked"), decl("remarked"));
typedef number DIFFER(type("user"), type("rcu")) *typedef_of_tag;
// The same everywhere, with declaration tags.
struct decl("marked") alike { number a decl("on a"); number type("user") *type("rcu") *p; };
typedef number alike_number decl("marked");

struct JOIN(all_of_unit_, UNIT) {
	struct type_tag_or_none a;
	struct type_tag_text b;
	struct long_type_tag c;
	struct type_tag_order d;
	struct type_tag_place e;
	struct type_tag_inside f;
	struct tag_of_void g;
	struct member_decl_tag h;
	struct member_decl_tag_text i;
	struct nested_decl_tag j;
	struct struct_decl_tag k;
	struct struct_decl_tags l;
	union union_decl_tag m;
	typedef_decl_tag o;
	typedef_of_tag p;
	struct alike q;
	alike_number r;
} JOIN(variable_, UNIT) decl("on variable") __attribute__((section(".data..percpu"))) = { { 0 } };
int DIFFER(decl("marked"), ) JOIN(function_, UNIT)(struct alike *a, number DIFFER(decl("first"), ) b, number DIFFER(, decl("second")) c)
{
	return a->a + b + c;
}
number type("user") *JOIN(plain_, UNIT)(const char type("user") *s, ...) { return (number *)s; }
