#include "kernel/kernel.h"

noinline void list_add(struct list_head *item, struct list_head *head)
{
	item->next = head->next;
	item->prev = head;
	head->next = item;
}
