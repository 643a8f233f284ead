// Package features checks features that are off by default: it compares the results of our tools
// with those of pahole, bpftool and libbpf, which share no code with the tools.
package features
