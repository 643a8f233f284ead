package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// shard is a part of the kernel's units, and its measurements.
type shard struct {
	name  string
	units int
	bytes float64 // of DWARF
	measure.Series
}

// allShards measures parts of the kernel of several sizes on one thread: how time and memory grow
// with the input.
func (b *bench) allShards() error {
	var commands []measure.Command
	for _, n := range []int{8, 4, 2, 1} {
		name := fmt.Sprintf("1/%d", n)
		commands = append(commands, measure.Command{Name: name, Argv: []string{b.tool("btfgen"),
			"object", "-j1", "--lang-exclude=rust", "-q", "--shard=" + name, "-o", b.output(),
			b.vmlinux}})
	}
	for i, c := range commands {
		units, bytes, err := b.sizeOf(c)
		if err != nil {
			return err
		}
		// Shards are parts of similar size.
		b.shards = append(b.shards, shard{name: c.Name, units: units,
			bytes: float64(bytes) / float64(int(8)>>i)})
	}
	series, err := b.measure(b.runs, commands...)
	if err != nil {
		return err
	}
	b.heading("Parts of the kernel: btfgen object -j1 --shard")
	fmt.Fprintln(b.out, "| part | units | DWARF | wall: median | least | most "+
		"| user + sys | for 100 MB | peak memory |")
	fmt.Fprintln(b.out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for i := range b.shards {
		s := &b.shards[i]
		s.Series = series[i]
		median, least, most := s.Wall()
		fmt.Fprintf(b.out, "| %s | %d | %.0f MB | %s | %s | %s | %s | %.2f s | %d MB |\n", s.name,
			s.units, s.bytes/1e6, rounded(median), rounded(least), rounded(most), rounded(s.CPU()),
			median.Seconds()/(s.bytes/1e8), s.Peak()>>20)
	}
	return nil
}

// sizeOf runs a command to read from its statistics how many units it converts, and how many bytes
// of DWARF all units of its file have.
func (b *bench) sizeOf(c measure.Command) (units int, bytes int64, err error) {
	stats := filepath.Join(b.dir, "stats.json")
	if err := b.prepare(append(c.Argv[:len(c.Argv):len(c.Argv)], "--stats="+stats)...); err != nil {
		return 0, 0, err
	}
	data, err := os.ReadFile(stats)
	if err != nil {
		return 0, 0, err
	}
	var s struct {
		Dwarf struct {
			Bytes int64 `json:"bytes"`
			Units int   `json:"units"`
		} `json:"dwarf"`
	}
	err = json.Unmarshal(data, &s)
	return s.Dwarf.Units, s.Dwarf.Bytes, err
}
