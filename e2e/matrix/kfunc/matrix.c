// SPDX-License-Identifier: GPL-2.0
/*
 * A module that is built outside of the kernel's tree, so that its BTF is based on a distilled
 * base. It has a kfunc, and a function to trace, which runs when the parameter "touch" is written.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>

#ifndef __bpf_kfunc_start_defs /* before 6.7 */
#define __bpf_kfunc_start_defs()
#define __bpf_kfunc_end_defs()
#endif
#ifndef __bpf_kfunc /* before 6.3 */
#define __bpf_kfunc noinline __used
#endif
#ifndef BTF_KFUNCS_START /* before 6.9 */
#define BTF_KFUNCS_START BTF_SET8_START
#define BTF_KFUNCS_END BTF_SET8_END
#endif

/* The place of "count" is what programs find through the module's BTF. */
struct matrix_state {
	struct module *owner;
	char padding[40];
	int count;
};

static struct matrix_state matrix_state = { .owner = THIS_MODULE };

int matrix_touch(struct matrix_state *state, int by);

noinline int matrix_touch(struct matrix_state *state, int by)
{
	state->count += by;
	barrier();
	return state->count;
}

__bpf_kfunc_start_defs();

__bpf_kfunc u64 matrix_scale(u32 a, u32 b)
{
	return (u64)a * b;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(matrix_kfunc_ids)
BTF_ID_FLAGS(func, matrix_scale)
BTF_KFUNCS_END(matrix_kfunc_ids)

static const struct btf_kfunc_id_set matrix_kfuncs = {
	.owner = THIS_MODULE,
	.set = &matrix_kfunc_ids,
};

static int touch(const char *text, const struct kernel_param *kp)
{
	int by, err = kstrtoint(text, 0, &by);

	if (err)
		return err;
	matrix_touch(&matrix_state, by);
	return 0;
}

static const struct kernel_param_ops touch_ops = { .set = touch };
module_param_cb(touch, &touch_ops, NULL, 0200);

static int __init matrix_init(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &matrix_kfuncs);
}
module_init(matrix_init);

MODULE_DESCRIPTION("A kfunc and a function to trace");
MODULE_LICENSE("GPL");
