package check_test

import "github.com/rules-btf/rules_btf/internal/programs/check"

// weak has weak symbols that the running kernel lacks, and one that it has.
const weak = settings + `
#define weak_ksym __attribute__((section(".ksyms"), weak))
struct cgroup { int any; };
extern void no_a(int) weak_ksym, no_b(int) weak_ksym;
extern void bpf_cgroup_release(struct cgroup *) weak_ksym;
extern int no_variable weak_ksym;
// clang must not combine two tests of addresses with |, which the verifier refuses for addresses.
#define is_there(symbol) ({ const void *at = symbol; asm volatile("" : "+r"(at)); at != 0; })
struct no_struct { int x, y; };
extern struct no_struct no_struct_variable weak_ksym;
#define noinline __attribute__((noinline))
static long (*loop)(unsigned, void *, void *, unsigned long long) = (void *)181;
static void *(*this_cpu)(const void *) = (void *)154;
static unsigned (*random)(void) = (void *)7;
`

const (
	noA        = "kfunc no_a: the kernel has no function no_a"
	noVariable = "ksym no_variable: the kernel has no variable no_variable"
	noStruct   = "ksym no_struct_variable: the kernel has no variable no_struct_variable"
)

var p = []string{"p"}

// weakCases are programs with weak symbols. libbpf replaces a call of a function that the kernel
// lacks with a call that the verifier refuses, and the address of such a symbol with 0.
var weakCases = []loadCase{
	{"a call of a missing function", weak + `
		SEC("socket") int p(void *c) { no_a(1); return 0; }`, p, check.Fails, noA + "\n"},
	{"a guarded call", weak + `
		SEC("socket") int p(void *c) { if (no_a) no_a(1); return 0; }`, p, check.Partly, noA + "\n"},
	{"the other way", weak + `
		SEC("socket") int p(void *c) { if (no_a) return 0; no_a(1); return 0; }`, p, check.Fails, noA},
	{"a call that depends on data", weak + `
		SEC("socket") int p(void *c) { if (random() == 77) no_a(1); return 0; }`, p, check.Fails, noA},
	{"guarded by another symbol", weak + `
		SEC("socket") int p(void *c) { if (no_b) no_a(1); return 0; }`, p, check.Partly, noA},
	{"guarded by a symbol that exists", weak + `
		SEC("socket") int p(void *c) { if (bpf_cgroup_release) no_a(1); return 0; }`, p, check.Fails,
		noA},
	{"not guarded by a symbol that exists", weak + `
		SEC("socket") int p(void *c) { if (!bpf_cgroup_release) no_a(1); return 0; }`, p, check.Partly,
		noA},
	{"two symbols in a guard", weak + `
		SEC("socket") int p(void *c) {
			if (is_there(bpf_cgroup_release) && is_there(no_a)) no_a(1); return 0; }`, p,
		check.Partly, noA},
	{"one of two symbols", weak + `
		SEC("socket") int p(void *c) {
			if (is_there(bpf_cgroup_release) || is_there(no_a)) no_a(1); return 0; }`, p,
		check.Fails, noA},
	{"a symbol and data", weak + `
		SEC("socket") int p(void *c) { if (random() == 77 && no_a) no_a(1); return 0; }`, p,
		check.Partly, noA},
	{"a symbol or data", weak + `
		SEC("socket") int p(void *c) { if (random() == 77 || no_a) no_a(1); return 0; }`, p, check.Fails,
		noA},
	{"a stored guard", weak + `
		SEC("socket") int p(void *c) { int has = !!no_a; if (random() == 77) has = 0; random();
			if (has) no_a(1); return 0; }`, p, check.Partly, noA},
	{"guarded by a setting", weak + `
		SEC("socket") int p(void *c) { if (off) no_a(1); return 0; }`, p, check.Partly,
		noA + "; used only for some settings"},
	{"guarded by a field that doesn't exist", weak + `
		SEC("socket") int p(void *c) { if (field_exists(gone)) no_a(1); return 0; }`, p, check.Partly,
		noA},
	{"in a static function", weak + `
		static noinline int f(void) { no_a(1); return random(); }
		SEC("socket") int p(void *c) { return f(); }`, p, check.Fails, noA},
	{"in a static function, guarded by its caller", weak + `
		static noinline int f(void) { no_a(1); return random(); }
		SEC("socket") int p(void *c) { return no_a ? f() : 0; }`, p, check.Partly, noA},
	{"in a global function", weak + `
		noinline int f(void) { no_a(1); return random(); }
		SEC("socket") int p(void *c) { return f(); }`, p, check.Fails, noA},
	{"in a global function, with a guard", weak + `
		noinline int f(void) { if (no_a) no_a(1); return random(); }
		SEC("socket") int p(void *c) { return f(); }`, p, check.Partly, noA},
	{"in a global function, guarded by its caller", weak + `
		noinline int f(void) { no_a(1); return random(); }
		SEC("socket") int p(void *c) { return no_a ? f() : 0; }`, p, check.Partly,
		noA + "; used only for some settings"},
	{"in a callback", weak + `
		static long f(unsigned i, void *c) { no_a(1); return 0; }
		SEC("tp_btf/sched_switch") int p(void *c) { loop(3, f, 0, 0); return 0; }`, p, check.Fails, noA},
	{"in a callback, with a guard", weak + `
		static long f(unsigned i, void *c) { if (no_a) no_a(1); return 0; }
		SEC("tp_btf/sched_switch") int p(void *c) { loop(3, f, 0, 0); return 0; }`, p, check.Partly, noA},
	{"in a callback, guarded by the caller", weak + `
		static long f(unsigned i, void *c) { no_a(1); return 0; }
		SEC("tp_btf/sched_switch") int p(void *c) { if (no_a) loop(3, f, 0, 0); return 0; }`, p,
		check.Partly, noA},
	{"a missing variable", weak + `
		SEC("socket") int p(void *c) { return no_variable; }`, p, check.Fails, noVariable},
	{"a missing variable, with a guard", weak + `
		SEC("socket") int p(void *c) { return &no_variable ? no_variable : 0; }`, p, check.Partly,
		noVariable},
	{"a missing variable, the other way", weak + `
		SEC("socket") int p(void *c) { return &no_variable ? 0 : no_variable; }`, p, check.Fails,
		noVariable},
	{"a part of a missing variable", weak + `
		SEC("socket") int p(void *c) { return no_struct_variable.y; }`, p, check.Fails, noStruct},
	{"a missing variable of each CPU", weak + `
		SEC("tp_btf/sched_switch") int p(void *c) { return *(int *)this_cpu(&no_variable); }`, p,
		check.Fails, noVariable},
	{"a missing variable of each CPU, with a guard", weak + `
		SEC("tp_btf/sched_switch") int p(void *c) {
			return &no_variable ? *(int *)this_cpu(&no_variable) : 0; }`, p, check.Partly, noVariable},
	{"the address of a missing variable", weak + `
		SEC("socket") int p(void *c) { out = (long)&no_variable; return 0; }`, p, check.Partly,
		noVariable},
}

// sizes has types that are empty in kernels without lockdep.
const sizes = settings + `
struct lockdep_map { int x; } P;
struct lock_class_key { } P;
struct raw_spinlock { struct lockdep_map dep_map; } P;
struct list_head { void *next; } P;
struct hlist_node { void *next; } P;
#define list ((struct list_head *)0)
`

// sizeCases are programs that compare numbers that relocations return.
var sizeCases = []loadCase{
	{"an empty type", sizes + `
		SEC("socket") int p(void *c) {
			return !type_size(struct lockdep_map) ? byte_off(gone) > 7 : 0; }`, p, check.Fails,
		"no field gone_now"},
	{"an empty type, compared with 1", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct lockdep_map) < 1 ? byte_off(gone) > 7 : 0; }`, p, check.Fails,
		"no field gone_now"},
	{"two empty types", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct lock_class_key) | type_size(struct lockdep_map) ?
				byte_off(gone) > 7 : 0; }`, p, check.Partly, "no field gone_now\n"},
	{"a type that isn't empty", sizes + `
		SEC("socket") int p(void *c) { return type_size(struct lockdep_map) ?
			byte_off(((struct raw_spinlock *)0)->dep_map.x) > 7 : 0; }`, p, check.Partly,
		"no field dep_map\n"},
	{"a small type", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct task_struct) < 100 ? byte_off(gone) > 7 : 0; }`, p, check.Partly,
		"no field gone_now\n"},
	{"a large type", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct task_struct) >= 100 ? byte_off(gone) > 7 : 0; }`, p, check.Fails,
		"no field gone_now"},
	{"the size of a field", sizes + `
		SEC("socket") int p(void *c) {
			return byte_sz(list->next) == 1234 ? byte_off(gone) > 7 : 0; }`, p, check.Partly,
		"no field gone_now\n"},
	{"a sum of sizes", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct list_head) + type_size(struct hlist_node) > 31 ?
				byte_off(gone) > 7 : 0; }`, p, check.Fails, "no field gone_now"},
	{"a sum of sizes that is too small", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct list_head) + type_size(struct hlist_node) > 32 ?
				byte_off(gone) > 7 : 0; }`, p, check.Partly, "no field gone_now\n"},
	{"a size and a guard", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct list_head) + field_exists(list->next) == 17 ?
				byte_off(gone) > 7 : 0; }`, p, check.Fails, "no field gone_now"},
	{"two sizes", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct list_head) < type_size(struct task_struct) ? 0 :
				byte_off(gone) > 7; }`, p, check.Partly, "no field gone_now\n"},
	{"a size and a setting", sizes + `
		SEC("socket") int p(void *c) {
			return type_size(struct list_head) < off ? byte_off(gone) > 7 : 0; }`, p, check.Partly,
		"no field gone_now; used only for some settings"},
}
