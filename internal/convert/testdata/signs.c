// flags: -O1 -g -gdwarf-2 -gstrict-dwarf
// one way: DWARF from version 3 on, or not strict, tells the sign
// In strict DWARF 2 nothing but the form of the values tells whether an enum is signed. One of 8
// bytes counts as unsigned, as pahole has it.
enum negative { MINUS = -1, FIVE = 5 } a;
enum top { TOP = 0x8000000000000000ULL, ONE = 1 } b;
enum all { ALL = ~0ULL, ZERO = 0 } c;
enum wide_negative { WIDE_MINUS = -1, WIDE = 1LL << 40 } d;
enum bit31 { BIT31 = 0xffffffffU } e;
/* BTF:
enum all { ALL = 18446744073709551615, ZERO = 0 } 8 unsigned
enum bit31 { BIT31 = 4294967295 } 4 unsigned
enum negative { MINUS = -1, FIVE = 5 } 4 signed
enum top { TOP = 9223372036854775808, ONE = 1 } 8 unsigned
enum wide_negative { WIDE_MINUS = 18446744073709551615, WIDE = 1099511627776 } 8 unsigned
*/
