#include "kernel/kernel.h"

struct run_queue {
	struct list_head tasks;
	u64 weight[4];
	u32 length;
};

per_cpu struct run_queue run_queue;

/* main.c has a function with this name and other parameters, so the name alone is ambiguous. */
static noinline u32 start(struct run_queue *queue, u64 weight)
{
	queue->weight[0] += weight;
	return ++queue->length;
}

noinline int schedule(struct task *next)
{
	next->state = TASK_RUNNING;
	next->on_cpu = 1;
	list_add(&next->list, &run_queue.tasks);
	return (int)start(&run_queue, next->prio);
}
