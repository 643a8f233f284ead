package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

func series(name string, peak int64, wall ...time.Duration) measure.Series {
	s := measure.Series{Command: measure.Command{Name: name}}
	for _, w := range wall {
		s.Runs = append(s.Runs, measure.Run{Wall: w, CPU: 2 * w, Peak: peak})
	}
	return s
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	b := bench{out: &out}
	b.table("Title", []contest{{"x",
		series("theirs", 600<<20, 9*time.Second, 12*time.Second, 10*time.Second),
		series("ours", 150<<20, 1100*time.Millisecond, 900*time.Millisecond, time.Second)}})
	for _, line := range []string{
		"### Title\n",
		"| theirs | 10.0 s | 9.00 s | 12.0 s | 20.0 s | 600 MB | 1 | 1 |\n",
		"| ours | 1.00 s | 900 ms | 1.10 s | 2.00 s | 150 MB | 1/10.0 | 1/4.0 |\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in:\n%s", line, &out)
		}
	}
}

func TestFraction(t *testing.T) {
	for v, want := range map[float64]string{7.04: "1/7.0", 1: "1", 0.5: "2.0", 0.8: "1.2"} {
		if got := fraction(v); got != want {
			t.Errorf("fraction(%v) = %q, want %q", v, got, want)
		}
	}
}

// TestDrawings looks for the numbers in the drawings, and for the same bytes in a second one.
func TestDrawings(t *testing.T) {
	b := bench{results: results{
		contests: []contest{{"vmlinux, -j1", series("theirs", 600<<20, 10*time.Second),
			series("ours", 150<<20, time.Second)}},
		trees: []treeResult{{"7.2", 10,
			[]moduleCost{{"pahole", 0.12}, {"btfgen elf, a process each", 0.02}, {"btfdedup modules", 0.01}},
			[]size{{"as shipped", 4e6}, {"rules_btf", 2e6}, {"with a shared base", 1e6}}}}},
	}
	for _, c := range []struct {
		name string
		draw func() []byte
		want []string
	}{
		{"comparison", b.comparison, []string{"vmlinux, -j1", "pahole: 10.0 s",
			"rules_btf: 1.00 s, 1/10.0", "rules_btf: 150 MB, 1/4.0"}},
		{"modules", b.modulesDrawing, []string{"7.2: 10 modules", "pahole: 120.0 ms",
			"btfdedup modules: 10.0 ms, 1/12.0", "rules_btf: 2.0 MB, 50%"}},
	} {
		svg := c.draw()
		for _, s := range c.want {
			if !bytes.Contains(svg, []byte(s)) {
				t.Errorf("%s doesn't show %q", c.name, s)
			}
		}
		if !bytes.Equal(svg, c.draw()) {
			t.Errorf("%s is another one the second time", c.name)
		}
	}
}

func TestShortened(t *testing.T) {
	for path, want := range map[string]string{"/a/b/net/core/dev.o": "net/core/dev.o",
		"dev.o": "dev.o"} {
		if got := shortened(path); got != want {
			t.Errorf("shortened(%q) = %q, want %q", path, got, want)
		}
	}
}
