// Package remote tests rules_btf with caches that several machines share (a disk cache, nginx for
// HTTP, buildbox-casd for gRPC) and with remote execution (buildbox-casd with bubblewrap).
package remote
