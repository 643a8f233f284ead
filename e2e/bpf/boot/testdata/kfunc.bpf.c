/* Calls kfuncs of vmlinux, and reads a field of the struct that one kfunc returns. */
struct task_struct {
	int pid;
} P;

extern struct task_struct *bpf_task_from_pid(int pid) SEC(".ksyms");
extern void bpf_task_release(struct task_struct *task) SEC(".ksyms");

SEC("tp_btf/task_newtask") int kfunc(void *ctx)
{
	struct task_struct *init = bpf_task_from_pid(1);
	volatile int pid;

	if (init) {
		pid = init->pid;
		bpf_task_release(init);
	}
	return 0;
}
