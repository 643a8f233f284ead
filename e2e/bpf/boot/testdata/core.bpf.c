/*
 * One program for each kind of CO-RE relocation, named after the kind, and two more programs. The
 * programs use no maps, because the instructions would contain the maps' ids, and no hooks that
 * need an id in the kernel's BTF.
 */
struct task_struct {
	int pid;
	int exit_code;
	unsigned sched_reset_on_fork : 1;
	char comm[16];
	struct task_struct *group_leader;
	int no_such_member;
} P;

struct no_such_struct {
	int member;
} P;

struct list_head {
	struct list_head *next, *prev;
} P;

enum pid_type { PIDTYPE_SID = 77, NO_SUCH_PIDTYPE = 99 };

#define task ((struct task_struct *)0)
/* The parentheses keep names that are also macros from being expanded. */
#define PROGRAM(name) SEC("raw_tp/sys_enter") int (name)(void *ctx)

static long (*const probe_read_kernel)(void *to, unsigned size, const void *from) = (void *)113;
static struct task_struct *(*const current_task)(void) = (void *)35;

PROGRAM(byte_offset) { return byte_off(task->pid); }
PROGRAM(byte_size) { return byte_sz(task->comm); }
PROGRAM(exists) { return field_exists(task->pid); }
PROGRAM(is_signed) { return is_signed(task->exit_code); }
PROGRAM(lshift) { return lshift(task->sched_reset_on_fork); }
PROGRAM(rshift) { return rshift(task->sched_reset_on_fork); }
PROGRAM(type_id_local) { return type_id_local(struct task_struct); }
PROGRAM(type_id_target) { return type_id_target(struct task_struct); }
PROGRAM(type_exists) { return type_exists(struct task_struct); }
PROGRAM(type_size) { return type_size(struct task_struct); }
PROGRAM(type_matches) { return type_matches(struct list_head); }
PROGRAM(enumerator_exists) { return enum_exists(enum pid_type, PIDTYPE_SID); }
PROGRAM(enumerator_value) { return enum_value(enum pid_type, PIDTYPE_SID); }

/* No kernel has this member, struct or enumerator, so the verifier removes the guarded uses. */
PROGRAM(absent)
{
	int value = 0;

	if (field_exists(task->no_such_member))
		value += byte_off(task->no_such_member);
	if (type_exists(struct no_such_struct))
		value += type_size(struct no_such_struct);
	if (enum_exists(enum pid_type, NO_SUCH_PIDTYPE))
		value += enum_value(enum pid_type, NO_SUCH_PIDTYPE);
	return value;
}

/* Reads fields through pointers, which is what programs usually do with offsets. */
PROGRAM(reads)
{
	struct task_struct *of = current_task();
	char comm[16];
	int pid = 0;

	probe_read_kernel(&of, sizeof(of), &of->group_leader);
	probe_read_kernel(&pid, sizeof(pid), &of->pid);
	probe_read_kernel(comm, sizeof(comm), &of->comm);
	return pid + comm[0];
}
