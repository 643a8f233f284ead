// What BTF has no word for: pointers to members. References are pointers in BTF.
struct thing { int x; int get() { return x; } };
int by_member(thing &t, thing &&u, int thing::*m) { return t.get() + u.*m; }
