/*
 * Traces functions of sctp. Fields are read through pointers. The kernel takes the pointers' types
 * from the BTF of the traced function: sock is in vmlinux, sctp_endpoint is in the module.
 */
#include "sctp.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

int opened, protocol, result = -1, socket_type;
int closed, closed_protocol, associations = -1;

SEC("fentry/sctp_init_sock")
int BPF_PROG(at_open, struct sock *sk)
{
	opened++;
	protocol = sk->sk_protocol;
	return 0;
}

SEC("fexit/sctp_init_sock")
int BPF_PROG(after_open, struct sock *sk, int ret)
{
	struct sctp_sock *sp = (struct sctp_sock *)sk;

	result = ret;
	/* A relocation against the module's BTF sets the field's offset. */
	socket_type = BPF_CORE_READ(sp, type);
	return 0;
}

SEC("fentry/sctp_endpoint_free")
int BPF_PROG(at_close, struct sctp_endpoint *ep)
{
	closed++;
	/* The path leads from a type of the module to a type of vmlinux. */
	closed_protocol = ep->base.sk->sk_protocol;
	associations = ep->asocs.next != __builtin_preserve_access_index(&ep->asocs);
	return 0;
}
