struct page {
	unsigned long flags;
	struct page *next;
};

struct task {
	struct page *stack;
	int pid;
};

int fork(struct task *task);

int start_kernel(void)
{
	static struct page stack;
	static struct task init = {.stack = &stack};

	return fork(&init);
}
