#include "core.h"

int device_add(struct device *device)
{
	return device->parent ? device_add(device->parent) + 1 : 0;
}
