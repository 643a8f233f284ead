// What BTF has no word for: references, pointers to members.
struct thing { int x; int get() { return x; } };
int by_reference(thing &t, thing &&u) { return t.get() + u.x; }
int thing::*to_member = &thing::x;
