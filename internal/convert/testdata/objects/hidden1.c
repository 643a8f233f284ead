// All that this file defines is hidden: lld makes it local and puts it behind what is local in the last of the files that
// ld -r has joined, as in a kernel's vmlinux.o.
struct only_hidden { int a; };
__attribute__((visibility("hidden"), noinline)) int concealed(struct only_hidden *p) { return p->a * 2; }
__attribute__((visibility("hidden"), section(".data..percpu"))) struct only_hidden variable = { 2 };
