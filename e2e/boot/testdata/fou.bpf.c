/* Calls kfuncs of fou: sets the UDP encapsulation of a packet, and reads it back. */
#include "fou.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int sport, dport;

SEC("tc")
int fou(struct __sk_buff *skb)
{
	struct bpf_fou_encap set = { bpf_htons(1111), bpf_htons(2222) }, got = {};
	struct bpf_tunnel_key key = { .remote_ipv4 = 0x0a000002 };

	if (bpf_skb_set_tunnel_key(skb, &key, sizeof(key), 0))
		return 1;
	if (bpf_skb_set_fou_encap(skb, &set, FOU_BPF_ENCAP_FOU))
		return 2;
	if (bpf_skb_get_fou_encap(skb, &got))
		return 3;
	sport = bpf_ntohs(got.sport);
	dport = bpf_ntohs(got.dport);
	return 0;
}
