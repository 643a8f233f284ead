// Package remote tests rules_btf with caches that several machines share (a disk cache, nginx for
// HTTP, buildbox-casd for gRPC) and with remote execution (buildbox-casd with bubblewrap). It also
// tests how builds end when a cache or executor fails.
package remote
