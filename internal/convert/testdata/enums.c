// Enums: unsigned unless a value is negative; of other sizes when packed; ENUM64 when wider than 4
// bytes. Enumerators of an anonymous enum are names, so it stays though nothing refers to it.
enum plain { A, B = 5, C };
enum negative { MINUS = -1, ZERO, PLUS };
enum __attribute__((packed)) small { S0, S255 = 255 };
enum __attribute__((packed)) small_negative { N128 = -128, N127 = 127 };
enum __attribute__((packed)) two_bytes { T = 40000 };
enum wide { W = 0x123456789abcdefULL, W0 = 0 };
enum top { TOP = 0xffffffff, BIT31 = 1u << 31 };
enum top_signed { TS = 1 << 31 };
enum { LONELY = 7, LONELY2 = -8 };
typedef enum { IN_TYPEDEF } in_typedef;
struct s { enum { IN_STRUCT = 3 } e; };
int f(void) {
	enum { IN_FUNCTION = 9 };
	return IN_FUNCTION;
}
enum plain u1; enum negative u2; enum small u3; enum small_negative u4; enum two_bytes u5; enum wide u6; enum top u8; enum top_signed u9; in_typedef u10; struct s u11;
/* BTF:
enum negative { MINUS = -1, ZERO = 0, PLUS = 1 } 4 signed
enum plain { A = 0, B = 5, C = 6 } 4 unsigned
enum small { S0 = 0, S255 = 255 } 1 unsigned
enum small_negative { N128 = -128, N127 = 127 } 1 signed
enum top { TOP = 4294967295, BIT31 = 2147483648 } 4 unsigned
enum top_signed { TS = -2147483648 } 4 signed
enum two_bytes { T = 40000 } 2 unsigned
enum wide { W = 81985529216486895, W0 = 0 } 8 unsigned
enum { IN_FUNCTION = 9 } 4 unsigned
enum { IN_STRUCT = 3 } 4 unsigned
enum { IN_TYPEDEF = 0 } 4 unsigned
enum { LONELY = 7, LONELY2 = -8 } 4 signed
int f(void);
struct s { enum { IN_STRUCT = 3 } 4 unsigned e @0; } 4
typedef enum { IN_TYPEDEF = 0 } 4 unsigned in_typedef;
*/
