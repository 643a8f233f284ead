package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// work is a command's processor time on one thread, in seconds: the sum, and how much of it would
// remain with any number of threads. One thread finds the facts of a linked file, while the others
// convert it, or read BTF objects. The time outside of the phases can't be shared by threads.
type work struct {
	all, remains  float64
	convert, fact phase
}

func workOf(all float64, phases []phase) work {
	w := work{all: all, remains: all}
	facts := slices.IndexFunc(phases, func(p phase) bool { return p.Name == "facts" })
	for _, p := range phases {
		switch {
		case (p.Name == "convert" || p.Name == "read") && facts >= 0:
			w.convert, w.fact = p, phases[facts]
			w.remains -= p.CPU + w.fact.CPU
		case p.Name != "facts":
			w.remains -= p.CPU - p.Critical
		}
	}
	return w
}

// with returns the time with this many threads, by Amdahl's law. It ignores that threads wait for
// each other and for memory.
func (w *work) with(threads float64) float64 {
	shared := w.all - w.remains - w.convert.CPU - w.fact.CPU
	convert := w.convert.Critical + (w.convert.CPU-w.convert.Critical+w.fact.CPU)/threads
	if threads == 1 {
		return w.all
	}
	return w.remains + shared/threads + max(w.fact.CPU, convert)
}

// alone returns the share of the time in which only one thread can work.
func (w *work) alone() float64 { return w.remains + w.convert.Critical }

// inPhases returns the processor time of all phases. A run without statistics is shorter than that
// only by chance.
func (s *stats) inPhases() (cpu float64) {
	for _, p := range s.Phases {
		cpu += p.CPU
	}
	return cpu
}

// threads prints the phases of commands, and the times with more threads that follow. For each
// command, it uses the phases of the run with the least processor time. The time of the whole
// command is from runs without statistics, because statistics take time too.
func threads(runs int, commands []command) {
	list, statsOf := withStats(commands)
	for _, c := range commands {
		c.line = strings.ReplaceAll(c.line, " --stats=STATS", "")
		list = append(list, c)
	}
	n := len(commands)
	kept, least := make([]stats, n), make([]float64, 2*n)
	alternate(runs, list, func(i int, r measure.Run) {
		better := least[i] == 0 || r.CPU.Seconds() < least[i]
		if better {
			least[i] = r.CPU.Seconds()
		}
		if i >= n {
			return
		}
		if s := statsOf(i); better {
			kept[i] = s
		}
	})
	for i := range n { // statistics make a run shorter only by chance
		least[i] = max(min(least[i], least[n+i]), kept[i].inPhases())
	}
	fmt.Println("| processor time, -j1 | in all | on one thread | share |\n|---|--:|--:|--:|")
	row := func(name string, p phase, all float64) {
		fmt.Printf("| %s | %.0f ms | %.0f ms | %.1f%% |\n", name, p.CPU*1e3, p.Critical*1e3,
			100*p.Critical/all)
	}
	for i, c := range commands {
		w := workOf(least[i], kept[i].Phases)
		row("**"+c.name+"**", phase{CPU: w.all, Critical: w.alone()}, w.all)
		rest := w.all
		for _, p := range kept[i].Phases {
			rest -= p.CPU
			if p.Name == "facts" && w.convert.CPU > 0 {
				fmt.Printf("| facts, at the same time | %.0f ms | | |\n", p.CPU*1e3)
				continue
			}
			row(p.Name, p, w.all)
			for _, s := range p.Steps {
				row("– "+s.Name, s, w.all)
			}
		}
		row("start, output, end", phase{CPU: rest, Critical: rest}, w.all)
	}
	fmt.Println("\nThe times with several threads are computed, not measured:\n\n" +
		"| threads | 1 | 2 | 4 | 16 | 64 | any number |\n|---|--:|--:|--:|--:|--:|--:|")
	for i, c := range commands {
		w := workOf(least[i], kept[i].Phases)
		fmt.Printf("| %s |", c.name)
		for _, n := range []float64{1, 2, 4, 16, 64, 1e9} {
			fmt.Printf(" %s |", duration(w.with(n)*1e9))
		}
		fmt.Println()
	}
}
