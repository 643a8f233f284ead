package check_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// loadCase is a C source with programs for the running kernel, and the expected verdict.
type loadCase struct {
	name, source string
	load         []string // the programs and maps to load
	want         check.Verdict
	why          string // a part of the reasons
}

// TestLoad compares our verdicts with what happens when libbpf loads the programs into the running
// kernel.
func TestLoad(t *testing.T) {
	loader := bpftest.NewLoader(t)
	vmlinux, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	kernel := bpftest.Parse(t, vmlinux)
	for _, c := range slices.Concat(loadCases, weakCases, sizeCases) {
		t.Run(c.name, func(t *testing.T) {
			object := bpftest.Compile(t, c.source)
			loaded, log := loader.Load(t, object, c.load...)
			verdict, why := verdictOf(t, object, kernel, c.load)
			if verdict != c.want || !strings.Contains(why, c.why) {
				t.Errorf("%v: %s, want %v: %s", verdict, why, c.want, c.why)
			}
			if loaded != (c.want != check.Fails) {
				t.Errorf("the expected verdict is %v; the kernel loaded the programs: %t\n%s", c.want,
					loaded, log)
			}
		})
	}
}

// verdictOf returns the worst verdict on the named programs in an object file, with the reasons.
func verdictOf(t *testing.T, object []byte, k *core.Kernel, names []string) (check.Verdict, string) {
	t.Helper()
	o := must.Get(bpfobj.Read(object))(t)
	n := must.Get(needs.Extract(o))(t)
	results := must.Get(check.Kernel(k.Index(needs.Names(n)), n))(t)
	worst, why, found := check.Loads, "", 0
	for _, r := range results {
		for _, name := range names {
			if r.Program != name {
				continue
			}
			found++
			worst = max(worst, r.Verdict)
			for _, reason := range r.Reasons {
				why += reason.Wants + ": " + reason.Why + "\n"
			}
		}
	}
	if found != len(names) {
		t.Errorf("there are verdicts on %d programs, want those on %v", found, names)
	}
	return worst, why
}

// congestion has the programs of a TCP congestion control algorithm.
const congestion = `
struct sock;
SEC("struct_ops") unsigned ssthresh(unsigned long long *c) { return 2; }
SEC("struct_ops") unsigned undo(unsigned long long *c) { return 2; }
SEC("struct_ops") void avoid(unsigned long long *c) { out = c[2]; }
`

// thePrograms are the programs in congestion, and the map "ops" in a test case.
var thePrograms = []string{"ssthresh", "undo", "avoid", "ops"}

var loadCases = []loadCase{
	{"struct_ops", congestion + `
		struct tcp_congestion_ops {
			unsigned flags;
			unsigned (*ssthresh)(struct sock *);
			void (*cong_avoid)(struct sock *, unsigned, unsigned);
			unsigned (*undo_cwnd)(struct sock *);
			char name[16];
		};
		SEC(".struct_ops.link") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh,
			.undo_cwnd = (void *)undo, .cong_avoid = (void *)avoid, .name = "rules_btf" };`,
		thePrograms, check.Loads, ""},
	{"a flavor, and members that aren't set", congestion + `
		struct tcp_congestion_ops___v2 {
			void (*gone)(void);
			unsigned (*ssthresh)(struct sock *);
			long also_gone[3];
			void (*cong_avoid)(struct sock *, unsigned, unsigned);
			unsigned (*undo_cwnd)(struct sock *);
			char name[16];
		};
		SEC(".struct_ops") struct tcp_congestion_ops___v2 ops = { .ssthresh = (void *)ssthresh,
			.undo_cwnd = (void *)undo, .cong_avoid = (void *)avoid, .name = "rules_btf2" };`,
		thePrograms, check.Loads, ""},
	{"a missing struct", congestion + `
		struct no_such_ops { unsigned (*ssthresh)(struct sock *); };
		SEC("?.struct_ops.link") struct no_such_ops ops = { .ssthresh = (void *)ssthresh };`,
		[]string{"ssthresh", "ops"}, check.Fails,
		"the kernel has no struct bpf_struct_ops_no_such_ops"},
	{"a struct that isn't for struct_ops", congestion + `
		struct task_struct { unsigned (*ssthresh)(struct sock *); };
		SEC("?.struct_ops.link") struct task_struct ops = { .ssthresh = (void *)ssthresh };`,
		[]string{"ssthresh", "ops"}, check.Fails,
		"the kernel has no struct bpf_struct_ops_task_struct"},
	{"a missing callback", congestion + `
		struct tcp_congestion_ops {
			unsigned (*ssthresh)(struct sock *), (*gone)(struct sock *);
			void (*cong_avoid)(struct sock *, unsigned, unsigned);
			unsigned (*undo_cwnd)(struct sock *);
			char name[16];
		};
		SEC(".struct_ops") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh,
			.gone = (void *)undo, .cong_avoid = (void *)avoid, .name = "rules_btf3" };`,
		thePrograms, check.Fails, "struct tcp_congestion_ops has no member gone"},
	{"a missing number", congestion + `
		struct tcp_congestion_ops {
			unsigned (*ssthresh)(struct sock *);
			int gone;
		};
		SEC(".struct_ops") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh, .gone = 1 };`,
		[]string{"ssthresh", "ops"}, check.Fails, "struct tcp_congestion_ops has no member gone"},
	{"a different size of a member that isn't set", congestion + `
		struct tcp_congestion_ops {
			unsigned (*ssthresh)(struct sock *);
			void (*cong_avoid)(struct sock *, unsigned, unsigned);
			unsigned (*undo_cwnd)(struct sock *);
			char name[16];
			long flags;
		};
		SEC(".struct_ops") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh,
			.undo_cwnd = (void *)undo, .cong_avoid = (void *)avoid, .name = "rules_btf4" };`,
		thePrograms, check.Fails, "the member flags has 4 bytes, where the program has 8"},
	{"a different kind of member", congestion + `
		struct tcp_congestion_ops {
			unsigned (*ssthresh)(struct sock *);
			long cong_avoid;
		};
		SEC(".struct_ops") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh };`,
		[]string{"ssthresh", "ops"}, check.Fails,
		"the member cong_avoid is a pointer, where the program has long"},
	{"a bitfield", congestion + `
		struct tcp_congestion_ops {
			unsigned (*ssthresh)(struct sock *);
			unsigned flags:3;
		};
		SEC(".struct_ops") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh };`,
		[]string{"ssthresh", "ops"}, check.Fails, "the member flags is a bitfield"},

	{"kptrs in a map and in data", kptrs + `
		struct task_struct { int any; };
		struct cpumask { long any; };
		struct value { int n; struct { struct task_struct kptr *task; } in; };
		struct { int (*type)[1]; int (*max_entries)[1]; int *key; struct value *value; } tasks
			SEC(".maps");
		static struct cpumask untrusted *mask SEC(".bss.mask");
		SEC("tp_btf/sched_switch") int p(void *c) { int key = 0; out = (long)mask;
			return lookup(&tasks, &key) != 0; }`, []string{"p"}, check.Loads, ""},
	{"a kptr to a struct that the kernel lacks", kptrs + `
		struct no_such_struct { int any; };
		struct value { struct no_such_struct kptr *it; };
		struct { int (*type)[1]; int (*max_entries)[1]; int *key; struct value *value; } it SEC(".maps");
		SEC("tp_btf/sched_switch") int p(void *c) { int key = 0; return lookup(&it, &key) != 0; }`,
		[]string{"p"}, check.Partly, "kptr no_such_struct: the kernel has no struct no_such_struct"},

	{"all arguments of a tracepoint", `SEC("tp_btf/sched_switch") int p(unsigned long long *c) {
		return c[3] > 5; }`, []string{"p"}, check.Loads, ""},
	{"more arguments than a tracepoint has", `SEC("tp_btf/sched_switch") int p(unsigned long long *c) {
		return c[4] > 5; }`, []string{"p"}, check.Fails,
		"the program reads 5 arguments, but the kernel passes 4"},
	{"more arguments in a function", `
		static __attribute__((noinline)) int f(unsigned long long *c) { return c[4] + out; }
		SEC("tp_btf/sched_switch") int p(unsigned long long *c) { return f(c + 1); }`, []string{"p"},
		check.Fails, "the program reads 6 arguments, but the kernel passes 4"},
	{"more arguments, never read", settings + `SEC("tp_btf/sched_switch")
		int p(unsigned long long *c) { return off ? c[4] > 5 : 0; }`, []string{"p"}, check.Loads, ""},
	{"more arguments than a callback has", congestion + `
		struct tcp_congestion_ops {
			unsigned (*ssthresh)(struct sock *);
			void (*cong_avoid)(struct sock *, unsigned, unsigned);
			unsigned (*undo_cwnd)(struct sock *);
			char name[16];
		};
		SEC(".struct_ops") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh,
			.cong_avoid = (void *)ssthresh, .undo_cwnd = (void *)avoid, .name = "rules_btf5" };`,
		[]string{"avoid", "ops"}, check.Fails, "the program reads 3 arguments, but the kernel passes 1"},

	{"a part of a field of a different size", `
		struct task_struct { unsigned long flags; } P;
		SEC("tp_btf/sched_switch") int p(unsigned long long *c) {
			return *(unsigned short *)&((struct task_struct *)c[1])->flags; }`, []string{"p"},
		check.Fails, "the program reads or writes 2 bytes of a field that has 8 bytes in the " +
			"program's types and 4"},
	{"a part of a field", `
		struct task_struct { unsigned flags; } P;
		SEC("tp_btf/sched_switch") int p(unsigned long long *c) {
			return *(unsigned short *)&((struct task_struct *)c[1])->flags; }`, []string{"p"},
		check.Loads, ""},
	{"a field of a different size", `
		struct task_struct { unsigned long flags; } P;
		SEC("tp_btf/sched_switch") int p(unsigned long long *c) {
			return ((struct task_struct *)c[1])->flags > 5; }`, []string{"p"}, check.Loads, ""},
	{"a signed field of a different size", `
		struct task_struct { long flags; } P;
		SEC("tp_btf/sched_switch") int p(unsigned long long *c) {
			return ((struct task_struct *)c[1])->flags > 5; }`, []string{"p"}, check.Fails,
		"struct task_struct.flags has 4 bytes, but the program reads 8"},
	{"a missing field", settings + `SEC("socket") int p(void *c) { return byte_off(gone) > 7; }`,
		[]string{"p"}, check.Fails, "struct task_struct has no field gone_now"},
	{"a missing field, guarded by a constant that a loader may set", settings + `
		SEC("socket") int p(void *c) { return off ? byte_off(gone) > 7 : 0; }`, []string{"p"},
		check.Partly, "used only for some settings"},
	{"guarded by a part of an array", settings + `
		SEC("socket") int p(void *c) { return table[3] & 4 ? byte_off(gone) > 7 : 0; }`, []string{"p"},
		check.Partly, "used only for some settings"},
	{"guarded by a switch", settings + `
		SEC("socket") int p(void *c) {
			switch (off) { case 7: return byte_off(gone) > 7; case 9: return 3; case 11: return 4; }
			return 0; }`, []string{"p"}, check.Partly, "used only for some settings"},
	{"guarded by a constant and something else", settings + `
		SEC("socket") int p(void *c) { return off && out ? byte_off(gone) > 7 : 0; }`, []string{"p"},
		check.Partly, "used only for some settings"},
	{"guarded by a constant or something else", settings + `
		SEC("socket") int p(void *c) { return off || out ? byte_off(gone) > 7 : 0; }`, []string{"p"},
		check.Fails, "no field gone_now"},
	{"read for all values of a constant", settings + `
		SEC("socket") int p(void *c) { return off > 3 ? byte_off(gone) > 7 : byte_off(gone) < 9; }`,
		[]string{"p"}, check.Fails, "no field gone_now"},
	{"guarded by the kernel's version", settings + `
		SEC("socket") int p(void *c) { return LINUX_KERNEL_VERSION < 0x50000 ? byte_off(gone) > 7 : 0; }`,
		[]string{"p"}, check.Partly, "used only for some settings"},
	{"guarded by a configuration", settings + `
		SEC("socket") int p(void *c) { return CONFIG_BPF_NOT_THERE ? byte_off(gone) > 7 : 0; }`,
		[]string{"p"}, check.Partly, "used only for some settings"},
	{"guarded by a weak function", settings + `
		SEC("socket") int p(void *c) { return no_such_kfunc ? byte_off(gone) > 7 : 0; }`,
		[]string{"p"}, check.Partly, "no field gone_now\n"},
	{"guarded by a weak symbol that isn't in BTF", settings + `
		SEC("socket") int p(void *c) { return &no_such_symbol ? byte_off(gone) > 7 : 0; }`,
		[]string{"p"}, check.Partly, "used only for some settings"},
	{"an unnamed struct", refusals + `
		SEC("socket") int p(void *c) { return off ? byte_off(unnamed->x) : 0; }`, []string{"p"},
		check.Fails, "byte_off of unnamed struct, access \"0:0\": libbpf supports only types with names"},
	{"an unnamed struct in another program", refusals + `
		SEC("socket") int p(void *c) { return 0; }
		SEC("socket") int q(void *c) { return byte_off(unnamed->x); }`, []string{"p"},
		check.Loads, ""},
	{"an unnamed struct in a function of another program", refusals + `
		NOINLINE int f(void) { return byte_off(unnamed->x) + out; }
		SEC("socket") int p(void *c) { return 0; }
		SEC("socket") int q(void *c) { return f(); }`, []string{"p"},
		check.Fails, "q needs it, and libbpf then loads no program of the object file"},
	{"an array without elements", refusals + `
		SEC("socket") int p(void *c) { return field_exists(task->none[0]); }`, []string{"p"},
		check.Fails, "task_struct, access \"0:0:0\": element 0 of an array of 0"},
	{"an array without elements at the end", refusals + `
		SEC("socket") int p(void *c) { return field_exists(task->gone[3]); }`, []string{"p"},
		check.Partly, "struct task_struct has no field gone"},
	{"a size that libbpf refuses, in a function of another program", `
		struct task_struct { unsigned long flags; } P;
		__attribute__((noinline)) int f(unsigned long long *c) {
			return *(unsigned short *)&((struct task_struct *)c[1])->flags; }
		SEC("socket") int p(void *c) { return 0; }
		SEC("tp_btf/sched_switch") int q(unsigned long long *c) { return f(c); }`, []string{"p"},
		check.Fails, "8 bytes in the program's types and 4"},

	{"a missing function that another program needs", externs + `
		SEC("socket") int p(void *c) { return 0; }
		SEC("?socket") int q(void *c) { return no_such_kfunc(); }`, []string{"p"},
		check.Fails, "q needs it, and libbpf then loads no program of the object file"},
	{"a struct_ops map beside a missing function", externs + congestion + `
		struct tcp_congestion_ops {
			unsigned (*ssthresh)(struct sock *);
			void (*cong_avoid)(struct sock *, unsigned, unsigned);
			unsigned (*undo_cwnd)(struct sock *);
			char name[16];
		};
		SEC(".struct_ops") struct tcp_congestion_ops ops = { .ssthresh = (void *)ssthresh,
			.cong_avoid = (void *)avoid, .undo_cwnd = (void *)undo, .name = "rules_btf6" };
		SEC("?socket") int q(void *c) { return no_such_kfunc(); }`, thePrograms,
		check.Fails, "kfunc no_such_kfunc: the kernel has no function no_such_kfunc"},
	{"a missing weak function that another program needs", externs + `
		SEC("socket") int p(void *c) { return 0; }
		SEC("socket") int q(void *c) { return no_weak_kfunc ? no_weak_kfunc() : 0; }`, []string{"p"},
		check.Loads, ""},
	{"a weak variable of a different type", externs + `
		SEC("socket") int p(void *c) { return 0; }
		SEC("socket") int q(void *c) { return runqueues; }`, []string{"p"},
		check.Fails, "ksym runqueues: the program and the kernel declare it with different"},
	{"a variable with an address only", externs + `
		SEC("socket") int p(void *c) { return 0; }
		SEC("socket") int q(void *c) { return (long)&vfs_read; }`, []string{"p"},
		check.Loads, "address vfs_read: BTF doesn't show all symbols"},
	{"a configuration", externs + `
		SEC("socket") int p(void *c) { return 0; }
		SEC("socket") int q(void *c) { return CONFIG_BPF; }`, []string{"p"},
		check.Loads, "kconfig CONFIG_BPF: BTF doesn't show the kernel's configuration"},
	{"a value that libbpf doesn't know", externs + `
		SEC("socket") int p(void *c) { return 0; }
		SEC("socket") int q(void *c) { return LINUX_NO_SUCH; }`, []string{"p"},
		check.Fails, "kconfig LINUX_NO_SUCH: libbpf knows only CONFIG_ values"},
	{"a weak value that libbpf doesn't know", externs + `
		SEC("socket") int p(void *c) { return LINUX_NO_SUCH_WEAK; }`, []string{"p"},
		check.Loads, ""},

	{"a tracepoint in vmlinux", `SEC("tp_btf/vmlinux:sched_switch") int p(unsigned long long *c) {
		return c[3] > 5; }`, []string{"p"}, check.Loads, ""},
	{"too many arguments of a tracepoint in vmlinux", `
		SEC("tp_btf/vmlinux:sched_switch") int p(unsigned long long *c) { return c[4] > 5; }`,
		[]string{"p"}, check.Fails, "the program reads 5 arguments, but the kernel passes 4"},
	{"a part of the name vmlinux", `SEC("tp_btf/vm:sched_switch") int p(void *c) { return 0; }`,
		[]string{"p"}, check.Loads, ""},
	{"a tracepoint that isn't in the module", `
		SEC("tp_btf/no_module:sched_switch") int p(void *c) { return 0; }`, []string{"p"}, check.Fails,
		"typedef btf_trace_sched_switch is in vmlinux, not in the module no_module"},
	{"a missing tracepoint of a module", `
		SEC("tp_btf/no_module:no_such") int p(void *c) { return 0; }`, []string{"p"}, check.Fails,
		"no typedef btf_trace_no_such, neither in the module no_module nor elsewhere"},
	{"guarded by a variable", settings + `
		SEC("socket") int p(void *c) { return out ? byte_off(gone) > 7 : 0; }`, []string{"p"},
		check.Fails, "no field gone_now"},
}

// settings has variables whose values the verifier knows.
const settings = `
struct task_struct { int gone_now; } P;
#define gone (((struct task_struct *)0)->gone_now)
const volatile int off;
const volatile int table[9];
extern int LINUX_KERNEL_VERSION __attribute__((section(".kconfig")));
extern _Bool CONFIG_BPF_NOT_THERE __attribute__((section(".kconfig"), weak));
extern int no_such_kfunc(void) __attribute__((section(".ksyms"), weak));
extern const void no_such_symbol __attribute__((section(".ksyms"), weak));
`

// refusals has types to which libbpf refuses relocations.
const refusals = `
#define NOINLINE __attribute__((noinline))
struct { int x; } P *unnamed;
struct task_struct { int none[0]; int pid; int gone[0]; } P *task;
const volatile int off;
`

const externs = `
#define ksym __attribute__((section(".ksyms")))
extern int no_such_kfunc(void) ksym;
extern int no_weak_kfunc(void) ksym __attribute__((weak));
extern const long runqueues ksym __attribute__((weak));
extern const void vfs_read ksym;
extern _Bool CONFIG_BPF __attribute__((section(".kconfig")));
extern int LINUX_NO_SUCH __attribute__((section(".kconfig")));
extern int LINUX_NO_SUCH_WEAK __attribute__((section(".kconfig"), weak));
`

const kptrs = `
#define kptr __attribute__((btf_type_tag("kptr")))
#define untrusted __attribute__((btf_type_tag("kptr_untrusted")))
static void *(*lookup)(void *, const void *) = (void *)1;
`
