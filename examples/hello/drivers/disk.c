#include "drivers/disk.h"

static struct module this_module = {.name = "disk"};

noinline int disk_open(struct disk *disk, struct task *task)
{
	task->owner = &this_module;
	disk->worker = task;
	disk->size = disk_size(&disk->geometry);
	return 0;
}
