// INT: signed for signed integers and signed char, boolean for _Bool, neither for plain unsigned ones. 16 bytes is the
// widest; floats are FLOAT, complex ones too, by their size.
// bases
// pahole: complex floats stop it
typedef signed char i8;
typedef unsigned char u8;
typedef char c8;
typedef _Bool b8;
typedef unsigned short u16;
typedef long long i64;
typedef __int128 i128;
typedef unsigned __int128 u128;
typedef float f32;
typedef double f64;
typedef long double f80;
typedef _Complex float c64;
typedef _Complex double c128;
typedef _Complex long double c256;
typedef _Complex int ci;
typedef __WCHAR_TYPE__ w;
typedef _Float128 f128;
i8 use;
/* BTF:
int "signed char" 1 signed
typedef signed char i8;
*/
