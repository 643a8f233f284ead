/* The kernel's module.h and modpost put a struct module into this section. */
#define module_init(function) \
	int init_module(void) { return function(); } \
	char __this_module[64] __attribute__((section(".gnu.linkonce.this_module")));
#define EXPORT_SYMBOL_GPL(name)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
