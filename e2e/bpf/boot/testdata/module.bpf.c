/* One program uses a struct that only nf_conntrack has; the other traces one of its functions. */
struct conntrack_gc_work {
	unsigned next_bucket;
	unsigned avg_timeout;
} P;

struct sk_buff {
	unsigned len;
} P;

SEC("raw_tp/sys_enter") int module_field(void *ctx)
{
	return byte_off(((struct conntrack_gc_work *)0)->avg_timeout);
}

SEC("fentry/nf_conntrack_in") int module_fentry(struct sk_buff **args)
{
	volatile unsigned len = args[0]->len;

	return 0;
}
