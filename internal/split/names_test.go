package split

import (
	"fmt"
	"slices"
	"testing"
)

// TestStableNames wants the same names wherever a program is built.
func TestStableNames(t *testing.T) {
	for _, c := range []struct {
		what        string
		names, want []string
	}{
		{"a build in the source tree", []string{"kernel/fork.c", "./mm/slub.c", "init/main.c"},
			[]string{"kernel/fork.c", "mm/slub.c", "init/main.c"}},
		{"a directory for objects below that of the sources", []string{"../../kernel/fork.c", "gen.c"},
			[]string{"kernel/fork.c", "gen.c"}},
		{"absolute names", []string{"/home/a/src/kernel/fork.c", "/home/a/src/mm/slub.c", "gen.c"},
			[]string{"kernel/fork.c", "mm/slub.c", "gen.c"}},
		{"the same elsewhere", []string{"/tmp/1234/kernel/fork.c", "/tmp/1234/mm/slub.c", "gen.c"},
			[]string{"kernel/fork.c", "mm/slub.c", "gen.c"}},
		{"one file", []string{"/home/a/main.c"}, []string{"main.c"}},
		{"one file twice", []string{"/home/a/main.c", "/home/a//x/../main.c"},
			[]string{"main.c", "main.c"}},
		{"nothing in common", []string{"/a.c", "/usr/b.c"}, []string{"a.c", "usr/b.c"}},
		{"a directory's name begins with another's", []string{"/src/ab/x.c", "/src/abc/y.c"},
			[]string{"ab/x.c", "abc/y.c"}},
		{"no names", []string{"", "<artificial>"}, []string{".", "<artificial>"}},
	} {
		if got := stableNames(c.names); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestShardOf wants shards of about the same number of units, each unit always in the same one.
func TestShardOf(t *testing.T) {
	for _, shards := range []int{1, 2, 8, 64} {
		const units = 64 * 64
		count := make([]int, shards)
		for i := range units {
			count[shardOf(fmt.Sprintf("drivers/d%d/file%d.c", i%17, i), shards)]++
		}
		for i, n := range count {
			if even := units / shards; n < even/2 || n > even*2 {
				t.Errorf("%d shards: shard %d has %d units, %d are even", shards, i, n, even)
			}
		}
	}
	for name, want := range map[string]int{"kernel/fork.c": 7, "mm/slub.c": 6, "": 4} {
		if got := shardOf(name, 8); got != want {
			t.Errorf("%q is in shard %d, and was in %d: all caches are cold", name, got, want)
		}
	}
}
