// Bit-fields: offset and size are in bits; an aggregate with one has the flag that says so. Unnamed ones leave no
// member, and a field may straddle its type's boundary in a packed struct.
struct plain { int a, b; };
struct bits { unsigned a : 3, b : 5; int : 4; long long c : 40; _Bool d : 1; char tail; };
struct zero { int a : 3; int : 0; int b : 3; };
struct __attribute__((packed)) packed { unsigned char x; unsigned a : 7; unsigned b : 18; unsigned long long c : 50; };
union u { unsigned a : 1; int b : 9; long c; };
enum color { RED, GREEN };
typedef unsigned int word;
struct typed { enum color c : 2; word w : 11; volatile const int v : 5; unsigned __int128 q : 100; };
struct nested { int a : 2; struct { int b : 3; union { int c : 4; char d; }; }; struct bits e; };
struct bits use;
/* BTF:
struct bits { unsigned int a:3 @0; unsigned int b:5 @3; long long int c:40 @12; _Bool d:1 @52; char tail @56; } 8
*/
