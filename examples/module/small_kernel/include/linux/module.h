#define module_init(function) int init_module(void) { return function(); }
#define EXPORT_SYMBOL_GPL(name)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
