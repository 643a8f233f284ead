// What C23 brings: enums with a fixed underlying type, integers of any width, nullptr_t, bool as a keyword; and the
// declaration of an enum whose size is known.
enum small : unsigned char { A = 255 };
enum wide : long long { B = -1 };
enum flag : bool { NO, YES };
enum chosen : unsigned long long { TOP = 0xffffffffffffffff };
typedef _BitInt(37) odd;
typedef unsigned _BitInt(8) octet;
typedef _BitInt(200) huge;
typedef typeof(nullptr) null;
enum ahead : short;
struct s { enum small a : 5; enum wide b; bool c; odd d; octet e; null f; enum ahead *g; enum flag h; enum chosen i; };
struct [[deprecated]] hidden { int x; };
struct s *use(void) { static constexpr int k = 3; static struct s v[k]; return v; }
huge *use2; struct hidden *use3;
