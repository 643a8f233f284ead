#include "kernel/kernel.h"

per_cpu struct task *current_task;
per_cpu u64 ticks;

/* sched.c has a different function with this name. */
static noinline int start(struct task *task)
{
	ticks += string_length(task->name);
	return schedule(task);
}

static struct list_head tasks = {&tasks, &tasks};

noinline int spawn(struct task *task, void *argument)
{
	list_add(&task->list, &tasks);
	return task->run ? task->run(task, argument) : start(task);
}

void _start(void)
{
	static struct task init = {.name = "init", .prio = 7};

	current_task = &init;
	spawn(&init, 0);
	for (;;)
		;
}
