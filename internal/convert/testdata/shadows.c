// A unit may define a tag several times: types inside functions and blocks count, and each reference keeps the
// definition that it means.
struct s { int file_scope; };
struct user { struct s *p; };
typedef struct s *alias;
int f(struct s *p) {
	struct s { long in_function; };
	struct user2 { struct s *p; struct user *q; } u = { 0, 0 };
	typedef struct s *local_alias;
	local_alias a = u.p;
	{
		struct s { char in_block[3]; struct s *self; };
		struct user3 { struct s *p; } v = { 0 };
		struct s x = { { 1 }, 0 };
		return (v.p == &x) + (a != 0);
	}
}
int g(struct s *p) {
	union s { long other_kind; } u = { 5 };
	struct t { int same; } t = { 1 };
	return u.other_kind + t.same;
}
int h(void) {
	struct t { int same; } t = { 2 };
	return t.same;
}
struct user *u1; alias u2;
/* BTF:
int f(struct s { int file_scope @0; } 4 *p);
int g(struct s { int file_scope @0; } 4 *p);
int h(void);
struct s { char in_block[3] @0; struct s(self) *self @64; } 16
struct s { int file_scope @0; } 4
struct s { long int in_function @0; } 8
struct t { int same @0; } 4
struct user { struct s { int file_scope @0; } 4 *p @0; } 8
struct user2 { struct s { long int in_function @0; } 8 *p @0; struct user *q @64; } 16
struct user3 { struct s { char in_block[3] @0; struct s(self) *self @64; } 16 *p @0; } 8
typedef struct s { int file_scope @0; } 4 *alias;
typedef struct s { long int in_function @0; } 8 *local_alias;
union s { long int other_kind @0; } 8
*/
