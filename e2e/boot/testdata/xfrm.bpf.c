/* Calls kfuncs of xfrm_interface: sets the metadata of a packet, and reads it back. */
#include "xfrm_interface.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int if_id;

SEC("tc")
int xfrm(struct __sk_buff *skb)
{
	struct bpf_xfrm_info set = { .if_id = 7 }, got = {};

	if (bpf_skb_set_xfrm_info(skb, &set))
		return 1;
	if (bpf_skb_get_xfrm_info(skb, &got))
		return 2;
	if_id = got.if_id;
	return 0;
}
