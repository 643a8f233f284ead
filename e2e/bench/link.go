package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// mergeAndLink measures what a build does after an edit if all objects but one are cached: it
// merges a BTF object for each of the kernel's units, and links. pahole has no such step; the
// report compares ours with half of pahole's time for everything.
func (b *bench) mergeAndLink() error {
	const j = 2
	units, factsFile := filepath.Join(b.dir, "units"), filepath.Join(b.dir, "facts")
	all := filepath.Join(b.dir, "all.btfo")
	if err := measure.Units(b.vmlinux, units); err != nil {
		return err
	}
	if err := b.prepare(b.tool("btfgen"), "facts", "-q", "-o", factsFile, b.vmlinux); err != nil {
		return err
	}
	list := filepath.Join(b.dir, "units.params")
	n, err := writeList(list, units)
	if err != nil {
		return err
	}
	if err := b.prepare(b.tool("btfdedup"), "merge", "-q", "-o", all, "@"+list); err != nil {
		return err
	}
	series, err := b.measure(b.runs, b.pahole(j, b.vmlinux),
		measure.Command{Name: "btfdedup merge", Argv: []string{b.tool("btfdedup"), "merge", "-q", "-o",
			b.output(), "@" + list}},
		measure.Command{Name: "btfdedup link", Argv: []string{b.tool("btfdedup"), "link",
			fmt.Sprintf("-j%d", j), "-q", "--facts=" + factsFile, "-o", b.output(), all}})
	if err != nil {
		return err
	}
	both := measure.Sum("both", series[1], series[2])
	b.contests = append(b.contests, contest{"merge and link", series[0], both})
	b.heading(fmt.Sprintf("Merging the BTF objects of %d units, and linking", n))
	tableHead(b.out)
	for _, s := range append(series, both) {
		tableRow(b.out, series[0], s)
	}
	whole, _, _ := series[0].Wall()
	ours, _, _ := both.Wall()
	fmt.Fprintf(b.out, "\nMerge and link take %.0f%% of half of pahole's time.\n",
		100*ours.Seconds()/(whole.Seconds()/2))
	return nil
}

// writeList writes the names of dir's files to path, one a line, and returns their number.
func writeList(path, dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriter(f)
	for _, e := range entries {
		fmt.Fprintln(w, filepath.Join(dir, e.Name()))
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return len(entries), f.Close()
}
