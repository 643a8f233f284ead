package badinput

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// logsCrafted returns pairs of execution logs. In each pair, thousands of actions write outputs
// that differ between the two logs, and each of thousands of other actions reads all these outputs.
func logsCrafted() []crafted {
	const n = 5000
	return []crafted{
		readers("logs in which 5000 actions read the outputs of 5000 that differ", n,
			func(*execlogtest.Builder, uint32, int, int) uint32 { return 0 }),
		readers("the same, each with its own file", n,
			func(l *execlogtest.Builder, all uint32, action, side int) uint32 {
				return l.Union([]uint32{all}, l.File(fmt.Sprint("s", action), fmt.Sprint(side)))
			}),
		readers("the same, with a file that a different action reads in the other log", 2500,
			func(l *execlogtest.Builder, all uint32, action, side int) uint32 {
				return l.Union([]uint32{all}, l.File(fmt.Sprint("s", (action+side)%n), ""))
			}),
	}
}

// readers makes two logs. In each log, n actions write outputs that differ between the logs.
// Another n actions, the readers, read these outputs. The function inputs returns the input set of
// a reader; if it returns 0, the reader reads all outputs.
func readers(name string, n int,
	inputs func(l *execlogtest.Builder, all uint32, action, side int) uint32) crafted {
	return crafted{name: name, make: func(t *testing.T, dir string) []string {
		for side, file := range []string{"a.log", "b.log"} {
			l := execlogtest.New()
			var outputs []uint32
			spawn := func(name string, s execlogtest.Spawn) uint32 {
				out := l.File("bazel-out/k8-fastbuild/bin/"+name, fmt.Sprint(name, side))
				s.Label, s.Mnemonic = "//:"+name, "M"
				l.Spawn(s, out)
				return out
			}
			for i := range n {
				outputs = append(outputs, spawn(fmt.Sprint("m", i), execlogtest.Spawn{}))
			}
			all := l.Set(outputs...)
			for i := range n {
				set := inputs(l, all, i, side)
				if set == 0 {
					set = all
				}
				spawn(fmt.Sprint("r", i), execlogtest.Spawn{Inputs: set})
			}
			must.OK(t, os.WriteFile(filepath.Join(dir, file), l.Zstd(t), 0o666))
		}
		return []string{"btfrepro", "diff", "--allow=mnemonic=* # they all do", "a.log", "b.log"}
	}}
}
