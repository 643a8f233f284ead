// SPDX-License-Identifier: GPL-2.0
/*
 * A module with inlined functions. Each value X that is written to the parameter "run" makes it
 * call all of them. Each parameter of a function has a fixed relation to X, which the function
 * "want" in boot_test.go knows too.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/module.h>

struct sites_pair {
	long first;
	int second;
};

struct sites_small {
	u16 low, high;
	u32 rest;
};

static long sites_sink;
static struct sites_pair sites_pairs[4];

static noinline void sites_touch(void *p)
{
	asm volatile("" : : "r"(p) : "memory");
}

static __always_inline void sites_scalars(long a, int b, u8 c, u16 d)
{
	WRITE_ONCE(sites_sink, sites_sink + a);
	barrier();
	if (b & 1)
		WRITE_ONCE(sites_sink, b);
	barrier();
	WRITE_ONCE(sites_sink, sites_sink + a + b + c + d);
}

static __always_inline void sites_pointer(struct sites_pair *pair, u32 n)
{
	pair->first += n;
	barrier();
	WRITE_ONCE(sites_sink, (long)pair ^ n);
}

static __always_inline void sites_struct(struct sites_small small, s64 e)
{
	WRITE_ONCE(sites_sink, small.low + e);
	barrier();
	WRITE_ONCE(sites_sink, small.high + small.rest + e);
}

static __always_inline void sites_nested(long a, s16 f, bool g)
{
	barrier();
	/* a is 3 X + 1, so X is */
	sites_pointer(&sites_pairs[((a - 1) / 3) & 3], (u32)((a - 1) / 3 * 13 + 5));
	WRITE_ONCE(sites_sink, f + g);
	barrier();
	WRITE_ONCE(sites_sink, a + f + g);
}

#define SCALARS(x) sites_scalars((x) * 3 + 1, (x) * 5 + 2, (x) * 7 + 3, (x) * 11 + 4)
#define POINTER(x) sites_pointer(&sites_pairs[(x) & 3], (x) * 13 + 5)
#define STRUCT(x) sites_struct((struct sites_small){ (x) + 1, (x) + 2, (x) + 3 }, (x) * 17 + 6)
#define NESTED(x) sites_nested((x) * 3 + 1, (x) * 19 + 7, (x) > 2)

static noinline void sites_plain(long x)
{
	SCALARS(x);
	POINTER(x);
	STRUCT(x);
	NESTED(x);
}

static noinline void sites_loop(long x, int times)
{
	while (times--) {
		SCALARS(x);
		sites_touch(&times);
		NESTED(x);
	}
}

/* More values than registers. */
static noinline long sites_pressure(long x)
{
	long v[14], sum = 0;
	int i;

#pragma GCC unroll 14
	for (i = 0; i < 14; i++)
		v[i] = READ_ONCE(sites_sink) + i;
	SCALARS(x);
	sites_touch(&sum);
	STRUCT(x);
	NESTED(x);
	sites_touch(&sum);
	POINTER(x);
#pragma GCC unroll 14
	for (i = 0; i < 14; i++)
		sum += v[i] * i;
	return sum;
}

/* Arguments that are in memory, where other structures have them. */
struct sites_all {
	long a;
	int b;
	u8 c;
	u16 d;
	struct sites_pair *pair;
	u32 n;
	struct sites_small small;
	s64 e;
	s16 f;
	bool g;
};

static noinline void sites_memory(const struct sites_all *all)
{
	sites_scalars(all->a, all->b, all->c, all->d);
	sites_pointer(all->pair, all->n);
	sites_struct(all->small, all->e);
	sites_nested(all->a, all->f, all->g);
}

static int run(const char *text, const struct kernel_param *kp)
{
	struct sites_all all;
	long x;
	int err = kstrtol(text, 0, &x);

	if (err)
		return err;
	sites_plain(x);
	sites_loop(x, 2);
	sites_touch((void *)sites_pressure(x));
	all = (struct sites_all){ x * 3 + 1, x * 5 + 2, x * 7 + 3, x * 11 + 4, &sites_pairs[x & 3],
		x * 13 + 5, { x + 1, x + 2, x + 3 }, x * 17 + 6, x * 19 + 7, x > 2 };
	sites_touch(&all);
	sites_memory(&all);
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = run };
module_param_cb(run, &run_ops, NULL, 0200);

/* Shows where the structures are that sites_pointer gets, and their size. */
static int pairs(char *text, const struct kernel_param *kp)
{
	return sprintf(text, "%lx %zx\n", (long)sites_pairs, sizeof(sites_pairs[0]));
}

static const struct kernel_param_ops pairs_ops = { .get = pairs };
module_param_cb(pairs, &pairs_ops, NULL, 0400);

MODULE_DESCRIPTION("Inlined functions");
MODULE_LICENSE("GPL");
