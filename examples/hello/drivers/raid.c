#include "drivers/disk.h"

struct raid {
	struct disk *members[8];
	u32 count;
	enum { MIRROR, STRIPE } level;
};

noinline int raid_add(struct raid *raid, struct disk *disk)
{
	if (raid->count == 8)
		return -1;
	raid->members[raid->count++] = disk;
	return 0;
}
