#include "drivers/disk.h"

noinline u64 disk_size(const struct geometry *geometry)
{
	return (u64)geometry->heads * geometry->sectors * geometry->cylinders;
}
