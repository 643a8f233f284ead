#include "bpf.h"

struct task_struct {
	int pid;
	long state; /* until 5.14 */
} CORE;

struct task_struct___5_14 {
	u32 __state;
} CORE;

int last_pid;
u64 last_state;

SEC("raw_tp/sched_process_exec")
int on_exec(void *context)
{
	struct task_struct *task = (void *)get_current_task();
	struct task_struct___5_14 *newer = (void *)task;

	read(&last_pid, task->pid);
	if (field_exists(newer->__state)) {
		u32 state = 0;

		read(&state, newer->__state);
		last_state = state;
	} else {
		long state = 0;

		read(&state, task->state);
		last_state = state;
	}
	return 0;
}
