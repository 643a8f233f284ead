// Package features holds the features that are not in the default set against programs that share
// no code with the tools: pahole, bpftool, libbpf.
package features
