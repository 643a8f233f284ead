#include <linux/list.h>

struct task {
	struct list_head children;
	u32 pid;
};

noinline u32 task_number(struct task *task)
{
	return list_is_empty(&task->children) ? task->pid : 0;
}

void _start(void)
{
	static struct task init = {.children = LIST_HEAD_INIT(init.children), .pid = 1};

	task_number(&init);
	for (;;)
		;
}

/* A kernel has this text if it reads the BTF of modules (btf_module_notify). */
const char reads_btf_of_modules[] = "failed to validate module [%s] BTF";
