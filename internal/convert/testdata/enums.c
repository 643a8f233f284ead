// Enums: unsigned unless a value is negative; of other sizes when packed; ENUM64 when wider than 4 bytes. Enumerators of
// an unnamed enum are names of their own, so it stays though nothing refers to it.
enum plain { A, B = 5, C };
enum negative { MINUS = -1, ZERO, PLUS };
enum __attribute__((packed)) small { S0, S255 = 255 };
enum __attribute__((packed)) small_negative { N128 = -128, N127 = 127 };
enum __attribute__((packed)) two_bytes { T = 40000 };
enum wide { W = 0x123456789abcdefULL, W0 = 0 };
enum wide_negative { WN = -0x123456789abcdefLL };
enum top { TOP = 0xffffffff, BIT31 = 1u << 31 };
enum top_signed { TS = 1 << 31 };
enum { LONELY = 7, LONELY2 = -8 };
typedef enum { IN_TYPEDEF } in_typedef;
struct s { enum { IN_STRUCT = 3 } e; };
int f(void) {
	enum { IN_FUNCTION = 9 };
	return IN_FUNCTION;
}
/* BTF:
enum { IN_FUNCTION = 9 } 4 unsigned
int f(void);
*/
