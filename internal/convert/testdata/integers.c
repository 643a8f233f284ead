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
struct { i8 a; u8 b; c8 c; b8 d; u16 e; i64 f; i128 g; u128 h; f32 i; f64 j; f80 k; c64 l; c128 m; c256 n; ci o; w p; f128 q; } *u1;
/* BTF:
float "_Float128" 16
float "complex double" 16
float "complex float" 8
float "double" 8
float "float" 4
float "long double" 16
int "_Bool" 1 bool
int "__SANITIZED_FAKE_INT__" 4 unsigned
int "__int128 unsigned" 16 unsigned
int "__int128" 16 signed
int "char" 1 signed
int "complex int" 8 unsigned
int "int" 4 signed
int "long long int" 8 signed
int "short unsigned int" 2 unsigned
int "signed char" 1 signed
int "unsigned char" 1 unsigned
typedef _Bool b8;
typedef _Float128 f128;
typedef __SANITIZED_FAKE_INT__ c256;
typedef __int128 i128;
typedef __int128 unsigned u128;
typedef char c8;
typedef complex double c128;
typedef complex float c64;
typedef complex int ci;
typedef double f64;
typedef float f32;
typedef int w;
typedef long double f80;
typedef long long int i64;
typedef short unsigned int u16;
typedef signed char i8;
typedef unsigned char u8;
*/
