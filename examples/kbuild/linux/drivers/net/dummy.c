struct page;

struct dummy {
	struct page *buffer;
	unsigned int packets;
};

int dummy_send(struct dummy *dummy, struct page *page)
{
	dummy->buffer = page;
	return ++dummy->packets;
}
