// An array that was declared without its count has the count of its definition.
// features: default,global_var
// pahole: it takes the type of the declaration, and then drops the variable for its size of 0
extern int counted[];
int counted[5] = { 1 };
extern const char *names[];
const char *names[] = { "a", "b" };
/* BTF:
section .data { names @0 16; counted @16 20; } 36
var global const char *names[2];
var global int counted[5];
*/
