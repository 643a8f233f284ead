/* Calls the kfunc of nf_flow_table, for a device that has no flow table. */
#include "nf_flow_table.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int error;

SEC("xdp")
int flowtable(struct xdp_md *ctx)
{
	struct bpf_flowtable_opts opts = {};
	struct bpf_fib_lookup tuple = { .family = 2 /* AF_INET */, .ifindex = 1 };

	if (bpf_xdp_flow_lookup(ctx, &tuple, &opts, sizeof(opts)))
		return 1;
	error = opts.error;
	return 0;
}
