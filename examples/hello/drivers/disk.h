#ifndef HELLO_DISK_H
#define HELLO_DISK_H

#include "kernel/kernel.h"

/* The kernel only declares this struct. */
struct module {
	const char *name;
	struct list_head users;
};

struct geometry {
	u32 heads : 8;
	u32 sectors : 6;
	u32 cylinders;
};

struct disk {
	struct geometry geometry;
	struct task *worker;
	u64 size;
};

u64 disk_size(const struct geometry *geometry);
int disk_open(struct disk *disk, struct task *task);

#endif
