/* Traces a function in vmlinux, and reads fields through pointers in the function's arguments. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

int reads, length;

/* The function is called through struct file_operations, so no compiler inlines the call. */
SEC("fentry/generic_file_read_iter")
int BPF_PROG(at_read, struct kiocb *iocb, struct iov_iter *iter)
{
	/* Relocations against the kernel's BTF set the fields' offsets. */
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
