// Package remote tests rules_btf with what several machines share: caches (a disk, HTTP by nginx,
// gRPC by buildbox-casd) and remote execution (buildbox-casd with bubblewrap). It also tests how
// Bazel ends when these fail.
package remote
