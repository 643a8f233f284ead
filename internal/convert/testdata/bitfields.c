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
struct plain *u1; struct zero *u2; struct packed *u3; union u *u4; struct typed *u5; struct nested *u6;
/* BTF:
enum color { RED = 0, GREEN = 1 } 4 unsigned
struct bits { unsigned int a:3 @0; unsigned int b:5 @3; long long int c:40 @12; _Bool d:1 @52; char tail @56; } 8
struct nested { int a:2 @0; struct { int b:3 @0; union { int c:4 @0; char d @0; } 4 @32; } 8 @32; struct bits e @128; } 24
struct packed { unsigned char x @0; unsigned int a:7 @8; unsigned int b:18 @15; long long unsigned int c:50 @33; } 11
struct plain { int a @0; int b @32; } 8
struct typed { enum color c:2 @0; word w:11 @2; volatile const int v:5 @13; __int128 unsigned q:100 @18; } 16
struct zero { int a:3 @0; int b:3 @32; } 8
typedef unsigned int word;
union u { unsigned int a:1 @0; int b:9 @0; long int c @0; } 8
*/
