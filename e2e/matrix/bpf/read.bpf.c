/* Traces a function of the kernel, and reads what its arguments lead to. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

int reads, length;

/* Files' operations contain the function's address, so no compiler inlines that call. */
SEC("fentry/generic_file_read_iter")
int BPF_PROG(at_read, struct kiocb *iocb, struct iov_iter *iter)
{
	/* The fields' offsets are relocations against the kernel's BTF. */
	const unsigned char *name = BPF_CORE_READ(iocb, ki_filp, f_path.dentry, d_name.name);
	char text[10] = {};

	bpf_probe_read_kernel_str(text, sizeof(text), name);
	if (bpf_strncmp(text, sizeof(text), "plan.json"))
		return 0;
	reads++;
	/* The verifier takes these types from the function's prototype. */
	length = iocb->ki_filp->f_path.dentry->d_name.len;
	return 0;
}
