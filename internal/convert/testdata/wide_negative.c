// one way: strict DWARF 2 doesn't tell the sign
enum wide_negative { WN = -0x123456789abcdefLL } u;
/* BTF:
enum wide_negative { WN = -81985529216486895 } 8 signed
*/
