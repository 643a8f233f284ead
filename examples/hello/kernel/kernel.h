/* The types that all files of this small kernel share. */
#ifndef HELLO_KERNEL_H
#define HELLO_KERNEL_H

typedef unsigned int u32;
typedef unsigned long u64;

#define per_cpu __attribute__((section(".data..percpu"), used))
#define noinline __attribute__((noinline, used))

struct module;       /* drivers know what it is, the kernel doesn't */

struct list_head {
	struct list_head *next, *prev;
};

enum task_state { TASK_RUNNING, TASK_WAITING, TASK_DEAD = 16 };

struct task {
	struct list_head list;
	enum task_state state;
	u32 on_cpu : 1;
	u32 policy : 3;
	u32 prio : 7;
	union {
		u64 wakeup_time;
		struct {
			u32 slot;
			u32 generation;
		};
	};
	const char *name;
	struct module *owner;
	int (*run)(struct task *self, void *argument);
};

void list_add(struct list_head *item, struct list_head *head);
u64 string_length(const char *text);
int schedule(struct task *next);

#endif
