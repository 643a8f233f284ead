// Declarations: a struct or union that the unit doesn't define is a FWD, which tells the two apart; an enum has size 4
// and no values. What nothing encoded refers to is left out.
struct never_used;
struct holder { struct opaque *s; union secret *u; enum later *e; };
typedef struct hidden hidden_t;
struct seen_later;
struct before { struct seen_later *p; };
struct seen_later { int x; };
struct holder use;
hidden_t *f(struct param_only *p) { return 0; }
struct before *u1;
/* BTF:
enum later {  } 4 unsigned
hidden_t *f(struct param_only *p);
struct before { struct seen_later *p @0; } 8
struct hidden;
struct holder { struct opaque *s @0; union secret *u @64; enum later *e @128; } 24
struct opaque;
struct param_only;
struct seen_later { int x @0; } 4
typedef struct hidden hidden_t;
union secret;
*/
