// Package remote tests the graph of rules_btf as what several machines share: caches (a disk, HTTP
// by nginx, gRPC by buildbox-casd), remote execution (buildbox-casd with bubblewrap), and what
// Bazel ends with when these fail.
package remote
