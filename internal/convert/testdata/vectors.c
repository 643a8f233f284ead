// Vector types are arrays.
typedef float v4 __attribute__((vector_size(16)));
typedef unsigned char v16 __attribute__((vector_size(16)));
struct s { v4 a; v16 b[2]; };
struct s use;
/* BTF:
struct s { v4 a @0; v16 b[2] @128; } 48
typedef float v4[4];
typedef unsigned char v16[16];
*/
