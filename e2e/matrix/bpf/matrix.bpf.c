/* Traces a function of the module in kfunc, and calls the module's kfunc. */
#include "matrix.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* matrix.h declares this kfunc too, if the BTF has kfunc tags, which Kbuild requests since 6.9. */
extern u64 matrix_scale(u32 a, u32 b) __weak __ksym;

int by, before = -1, scaled;

SEC("fentry/matrix_touch")
int BPF_PROG(at_touch, struct matrix_state *state, int n)
{
	by = n;
	before = BPF_CORE_READ(state, count);
	scaled = matrix_scale(n, 6);
	return 0;
}
