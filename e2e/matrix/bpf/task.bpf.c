/* Calls kfuncs of vmlinux. bpftool makes their declarations from the tags in the kernel's BTF. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

int found = -1;

SEC("fentry/generic_file_read_iter")
int BPF_PROG(at_read, struct kiocb *iocb, struct iov_iter *iter)
{
	struct task_struct *task;

	task = bpf_task_from_pid(bpf_get_current_task_btf()->pid);
	if (task) {
		found = task->tgid;
		bpf_task_release(task);
	}
	return 0;
}
