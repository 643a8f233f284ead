package cache

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// shardTargets is the kernel of examples/hello as if one large action had built it.
const shardTargets = `
vmlinux_btf(
    name = "sharded_btf",
    shards = 16,
    vmlinux = "//kernel:vmlinux",
)
`

// TestShards converts a linked kernel in parts. After an edit of one unit all addresses and offsets
// in the linked file are others, but only that unit's shard is.
func TestShards(t *testing.T) {
	w := newWorkspace(t, "//:vmlinux_btf", "//:sharded_btf")
	w.useBuiltTools()
	w.append(t, "BUILD.bazel", shardTargets)
	build := func(what string, counts map[string]int) {
		t.Helper()
		spawns := of(ran(t, "shards: "+what, w.build()), "//:sharded_btf")
		for _, mnemonic := range []string{"BtfSplit", "BtfFacts", "BtfGen", "BtfLink"} {
			want(t, spawns, mnemonic, counts[mnemonic])
		}
		sharded := harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin/sharded_btf.btf"))
		if !bytes.Equal(sharded, harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin/vmlinux_btf.btf"))) {
			t.Errorf("%s: the BTF of the shards differs from that of the objects", what)
		}
	}
	build("first build", map[string]int{"BtfSplit": 1, "BtfFacts": 1, "BtfGen": 16, "BtfLink": 1})

	w.edit(t, "lib/string.c", "u64 length = 0;",
		"u64 length = 0; volatile char debug[37] = {1}; debug[1]++;")
	build("a function's body", map[string]int{"BtfSplit": 1, "BtfFacts": 1})

	w.edit(t, "lib/string.c", "char text[16];", "char text[16]; int references;")
	build("a type", map[string]int{"BtfSplit": 1, "BtfFacts": 1, "BtfGen": 1, "BtfLink": 1})
}
