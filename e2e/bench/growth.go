package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// stats is what --verbose says about a conversion.
type stats struct {
	megabytes     float64 // of DWARF
	units, shapes string
}

// converted matches the line of --verbose about a conversion.
var converted = regexp.MustCompile(
	`convert: (\d+) units?, .*?([\d.]+) (bytes|kB|MB|GB) of debugging information, (\d+) shapes?`)

// withStats returns the commands with STATS replaced by the name of a file, and a function that
// reads the statistics of the last run of a command.
func withStats(commands []command) ([]command, func(i int) stats) {
	dir := orExit(os.MkdirTemp("", "bench"))
	name := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	list := slices.Clone(commands)
	for i := range list {
		list[i].line = strings.ReplaceAll(list[i].line, "STATS", name(i))
	}
	return list, func(i int) (s stats) {
		m := converted.FindStringSubmatch(string(orExit(os.ReadFile(name(i)))))
		if m == nil {
			usageError("COMMAND must write the output of btfgen elf -v to STATS")
		}
		os.Remove(name(i))
		scale := map[string]float64{"bytes": 1e-6, "kB": 1e-3, "MB": 1, "GB": 1e3}[m[3]]
		return stats{orExit(strconv.ParseFloat(m[2], 64)) * scale, m[1], m[4]}
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
		size := a.megabytes
		above := "no"
		if peak := float64(s.peak) / 1e6; peak > 300+size/20 {
			above = fmt.Sprintf("by %.0f MB", peak-300-size/20)
		}
		fmt.Printf("| %s | %.1f MB | %s | %s | %s | %s | %s | %d MB | %s |\n", c.name, size,
			a.units, a.shapes, s.wall, s.cpu, duration(float64(s.cpu)/size*100),
			s.peak/1e6, above)
	}
}
