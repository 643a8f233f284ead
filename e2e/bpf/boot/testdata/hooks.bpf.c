/* Programs for functions, LSM hooks and tracepoints, which are found by ids in the kernel's BTF. */
struct file {
	unsigned f_flags;
} P;

struct task_struct {
	int pid;
} P;

SEC("fentry/vfs_read") int fentry(struct file **args)
{
	volatile unsigned flags = args[0]->f_flags;

	return 0;
}

SEC("fexit/vfs_read") int fexit(struct file **args)
{
	volatile unsigned flags = args[0]->f_flags;

	return 0;
}

SEC("lsm/file_open") int lsm(struct file **args)
{
	volatile unsigned flags = args[0]->f_flags;

	return 0;
}

SEC("tp_btf/task_newtask") int tracepoint(struct task_struct **args)
{
	volatile int pid = args[0]->pid;

	return 0;
}
