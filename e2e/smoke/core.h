struct device {
	const char *name;
	unsigned int minor : 20;
	unsigned int major : 12;
	struct device *parent;
};

int device_add(struct device *device);
