/* Calls kfuncs of nf_conntrack: looks for a connection in vain, creates it, and finds it. */
#include "nf_conntrack.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int before, mark;

SEC("tc")
int conntrack(struct __sk_buff *skb)
{
	struct bpf_ct_opts opts = { .netns_id = -1, .l4proto = 17 /* UDP */ };
	struct bpf_sock_tuple tuple = {};
	struct nf_conn___init *new;
	struct nf_conn *ct;

	tuple.ipv4.saddr = bpf_htonl(0x0a000001);
	tuple.ipv4.daddr = bpf_htonl(0x0a000002);
	tuple.ipv4.sport = bpf_htons(1000);
	tuple.ipv4.dport = bpf_htons(2000);

	ct = bpf_skb_ct_lookup(skb, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	if (ct) {
		bpf_ct_release(ct);
		return 1;
	}
	before = opts.error;

	new = bpf_skb_ct_alloc(skb, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	if (!new)
		return 2;
	bpf_ct_set_timeout(new, 10000);
	/* The only field that programs may write; the kernel finds struct nf_conn by .BTF_ids. */
	((struct nf_conn *)new)->mark = 42;
	ct = bpf_ct_insert_entry(new);
	if (!ct)
		return 3;
	bpf_ct_release(ct);

	ct = bpf_skb_ct_lookup(skb, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	if (!ct)
		return 4;
	mark = ct->mark;
	bpf_ct_release(ct);
	return 0;
}
