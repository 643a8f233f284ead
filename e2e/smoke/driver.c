#include "core.h"

struct driver {
	struct device device;
	enum { OFF, ON } power;
};

int driver_probe(struct driver *driver)
{
	driver->power = ON;
	return device_add(&driver->device);
}
