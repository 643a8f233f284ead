package remote

import (
	"path/filepath"
	"testing"
)

// TestPathMapping builds in three configurations. With the preset for path mapping, the second and
// third builds must be cache hits; without the preset, the second build must not be.
func TestPathMapping(t *testing.T) {
	m, want := quick(t)
	for name, options := range map[string][]string{
		"with path mapping":             preset(t, "path-mapping.bazelrc"),
		"control: without path mapping": nil,
	} {
		t.Run(name, func(t *testing.T) {
			m.t = t
			cache := "--disk_cache=" + filepath.Join(t.TempDir(), "disk")
			modes := []string{"fastbuild", "opt", "dbg"}
			if options == nil {
				modes = modes[:2]
			}
			for i, mode := range modes {
				o := m.must(append([]string{cache, "--compilation_mode=" + mode}, options...)...)
				table := show(t, name+", "+mode, o)
				m.same(want)
				switch sum := btfSum(table); {
				case i == 0 || options == nil:
					if sum.ran() == 0 || sum.hit > 0 {
						t.Errorf("%s: %d ran and %d were hits, want no hits", mode, sum.ran(), sum.hit)
					}
				default:
					allHits(t, mode, table)
				}
			}
		})
	}
}
