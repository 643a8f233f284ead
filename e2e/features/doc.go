// Package features compares the features outside of the default set with the results of programs
// that share no code with the tools: pahole, bpftool, libbpf.
package features
