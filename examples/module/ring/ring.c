#include <linux/init.h>
#include <linux/list.h>
#include <linux/module.h>

/* The kernel knows struct list_head; struct ring_entry is the module's own. */
struct ring_entry {
	struct list_head list;
	u32 sequence;
};

static LIST_HEAD(ring);

int ring_add(struct ring_entry *entry);

noinline int ring_add(struct ring_entry *entry)
{
	static u32 sequence;

	entry->sequence = ++sequence;
	list_add_tail(&entry->list, &ring);
	return sequence;
}
EXPORT_SYMBOL_GPL(ring_add);

static int __init ring_init(void)
{
	return 0;
}
module_init(ring_init);

MODULE_DESCRIPTION("A ring of entries");
MODULE_LICENSE("GPL");
