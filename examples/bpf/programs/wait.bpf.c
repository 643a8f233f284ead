#include "bpf.h"

struct wait_info {
	u64 waits;
} CORE;

struct task_struct {
	struct wait_info wait;
} CORE;

u64 last_waits;

SEC("raw_tp/sched_switch")
int on_switch(void *context)
{
	struct task_struct *task = (void *)get_current_task();

	read(&last_waits, task->wait.waits);
	return 0;
}
