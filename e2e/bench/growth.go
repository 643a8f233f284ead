package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// stats has the fields of --stats that the tables need.
type stats struct {
	DWARF struct {
		Bytes int64
		Units int
	}
	Shapes struct{ Distinct int }
}

// withStats returns the commands with STATS replaced by the name of a file, and a function that
// reads the statistics of the last run of a command.
func withStats(commands []command) ([]command, func(i int) stats) {
	dir := must(os.MkdirTemp("", "bench"))
	name := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	list := slices.Clone(commands)
	for i := range list {
		list[i].line = strings.ReplaceAll(list[i].line, "STATS", name(i))
	}
	return list, func(i int) (s stats) {
		if err := json.Unmarshal(must(os.ReadFile(name(i))), &s); err != nil {
			usageError("COMMAND must write statistics to STATS: %v", err)
		}
		os.Remove(name(i))
		return s
	}
}

// growth prints the time and memory of commands, and the size of their inputs. If the time is
// proportional to the size, the column "per 100 MB" is nearly constant.
func growth(runs int, commands []command) {
	list, statsOf := withStats(commands)
	used, about := make([][]measure.Run, len(list)), make([]stats, len(list))
	alternate(runs, list, func(i int, r measure.Run) {
		used[i], about[i] = append(used[i], r), statsOf(i)
	})
	fmt.Println("| command | DWARF | units | distinct types | wall | user + sys | per 100 MB " +
		"| peak memory | above 300 MB + 5% |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for i, c := range commands {
		s, a := summary(used[i]), &about[i]
		size := float64(a.DWARF.Bytes) / 1e6
		above := "no"
		if peak := float64(s.peak) / 1e6; peak > 300+size/20 {
			above = fmt.Sprintf("by %.0f MB", peak-300-size/20)
		}
		fmt.Printf("| %s | %.1f MB | %d | %d | %s | %s | %s | %d MB | %s |\n", c.name, size,
			a.DWARF.Units, a.Shapes.Distinct, s.wall, s.cpu, duration(float64(s.cpu)/size*100),
			s.peak/1e6, above)
	}
}
