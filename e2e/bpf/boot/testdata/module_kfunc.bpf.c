/* Calls kfuncs of nf_conntrack. */
struct nf_conn {
	unsigned mark;
} P;

struct __sk_buff {
	unsigned len;
};

struct bpf_sock_tuple {
	unsigned ipv4[3];
};

struct bpf_ct_opts {
	unsigned netns_id, error, protocol, zone;
};

extern struct nf_conn *bpf_skb_ct_lookup(struct __sk_buff *skb, struct bpf_sock_tuple *tuple,
					 unsigned tuple_size, struct bpf_ct_opts *options,
					 unsigned options_size) SEC(".ksyms");
extern void bpf_ct_release(struct nf_conn *ct) SEC(".ksyms");

SEC("tc") int module_kfunc(struct __sk_buff *skb)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_ct_opts options = {};
	struct nf_conn *ct = bpf_skb_ct_lookup(skb, &tuple, sizeof(tuple), &options, sizeof(options));
	unsigned mark = 0;

	if (ct) {
		mark = ct->mark;
		bpf_ct_release(ct);
	}
	return mark;
}
