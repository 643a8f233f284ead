/*
 * A TCP congestion control that calls kfuncs of tcp_dctcp and tcp_bbr for a new connection.
 */
#include "tcp_dctcp.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

extern u32 bbr_sndbuf_expand(struct sock *sk) __ksym;

int threshold, expand;

SEC("struct_ops")
void BPF_PROG(begin, struct sock *sk)
{
	threshold = dctcp_ssthresh(sk);
	expand = bbr_sndbuf_expand(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return dctcp_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return dctcp_cwnd_undo(sk);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
}

SEC(".struct_ops.link")
struct tcp_congestion_ops congestion = {
	.init = (void *)begin,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.cong_avoid = (void *)cong_avoid,
	.name = "checked",
};
