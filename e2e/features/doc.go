// Package features compares the features that are not in the default set with the results of
// programs that share no code with the tools: pahole, bpftool, libbpf.
package features
