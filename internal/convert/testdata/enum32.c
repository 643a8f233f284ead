// Without the feature enum64: no ENUM64, and no signs.
// features: encode_force,var,float,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs
enum wide { HUGE = 1ul << 40 | 5, MINUS = -2 };
enum negative { NEGATIVE = -1, ONE = 1 };
enum __attribute__((packed)) small { LITTLE = 200 };
struct s { enum wide w; enum negative n; enum small s; };
int use(struct s *s) { return s->n; }
/* BTF:
enum negative { NEGATIVE = 4294967295, ONE = 1 } 4 unsigned
enum small { LITTLE = 200 } 1 unsigned
enum wide { HUGE = 5, MINUS = 4294967294 } 8 unsigned
int use(struct s *s);
struct s { enum wide w @0; enum negative n @64; enum small s @96; } 16
*/
