package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// tree measures all modules below each of the directories: in one process, one process a module,
// and with vmlinux and embedding in one command. pahole works on a sample of them.
func (b *bench) tree() error {
	for i, dir := range b.treeDirs {
		t, err := b.newTree(dir, filepath.Join(b.dir, fmt.Sprintf("tree%d", i)))
		if err != nil {
			return err
		}
		for _, step := range []func() error{t.makeIndex, t.compareSample, t.everything, t.bytes} {
			if err := step(); err != nil {
				return err
			}
		}
		b.trees = append(b.trees, t.result)
	}
	return nil
}

// tree is what there is to measure of a directory of modules.
type tree struct {
	*bench
	dir                 string // for temporary files
	modulesDir, vmlinux string
	all, sample         []string
	allList, sampleList string
	base, index         string
	result              treeResult
}

// treeResult is what the drawing shows of a tree.
type treeResult struct {
	name    string
	modules int
	cpu     []moduleCost
	sizes   []size
}

// moduleCost is the processor time that a way of conversion takes for each module.
type moduleCost struct {
	way     string
	seconds float64
}

// size is that of the BTF of all modules.
type size struct {
	what  string
	bytes int64
}

func (b *bench) newTree(modulesDir, dir string) (*tree, error) {
	all, err := modulesBelow(modulesDir)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	t := &tree{bench: b, dir: dir, modulesDir: modulesDir, vmlinux: b.vmlinuxOf(modulesDir), all: all,
		allList: filepath.Join(dir, "all.list"), sampleList: filepath.Join(dir, "sample.list"),
		base: filepath.Join(dir, "vmlinux.btf"), index: filepath.Join(dir, "vmlinux.btfbase")}
	t.result.name, t.result.modules = release(t.vmlinux), len(all)
	if t.sample, err = sampleOf(all, b.sample); err != nil {
		return nil, err
	}
	for path, list := range map[string][]string{t.allList: t.all, t.sampleList: t.sample} {
		if err := os.WriteFile(path, []byte(strings.Join(list, "\n")+"\n"), 0o666); err != nil {
			return nil, err
		}
	}
	return t, b.makeBaseOf(t.vmlinux, t.base)
}

// sampleOf returns n of the files, of all sizes: of the files in the order of their sizes, cut into
// n parts, the middle one of each part.
func sampleOf(files []string, n int) ([]string, error) {
	sizes := map[string]int64{}
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		sizes[path] = info.Size()
	}
	ordered := slices.SortedFunc(slices.Values(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[a], sizes[b]), cmp.Compare(a, b))
	})
	n = min(n, len(files))
	sample := make([]string, n)
	for i := range sample {
		sample[i] = ordered[(2*i+1)*len(ordered)/(2*n)]
	}
	return sample, nil
}

// vmlinuxOf returns the vmlinux in a directory of modules or beside it, else the one that is
// measured.
func (b *bench) vmlinuxOf(dir string) string {
	for _, path := range []string{filepath.Join(dir, "vmlinux"), filepath.Join(dir, "../vmlinux")} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return b.vmlinux
}

// modulesBelow lists the modules in a directory that have DWARF, by path.
func modulesBelow(dir string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".ko") {
			list = append(list, path)
		}
		return err
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: no modules (*.ko)", dir)
	}
	return list, err
}

// makeIndex measures how long the index of the base takes.
func (t *tree) makeIndex() error {
	argv := []string{t.tool("btfdedup"), "index", "-q", "-o", t.index, t.base}
	series, err := t.measure(t.runs, measure.Command{Name: "btfdedup index", Argv: argv})
	if err != nil {
		return err
	}
	t.heading("The index of the kernel's BTF")
	tableHead(t.out)
	tableRow(t.out, series[0], series[0])
	base, err := os.Stat(t.base)
	if err != nil {
		return err
	}
	index, err := os.Stat(t.index)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "\nBTF of %d bytes, an index of %d: %.0f%%.\n", base.Size(), index.Size(),
		100*float64(index.Size())/float64(base.Size()))
	return nil
}

// each runs a command for each module of the sample, which it names $f.
func (t *tree) each(name, command string) measure.Command {
	return measure.Command{Name: name, Argv: []string{"sh", "-ec",
		"while read -r f; do " + command + " \"$f\"; done <" + t.sampleList}}
}

// batch converts the modules of a list in one process.
func (t *tree) batch(jobs int, list string) measure.Command {
	j := "-j" + strconv.Itoa(jobs)
	return measure.Command{Name: "btfdedup modules " + j, Argv: []string{t.tool("btfdedup"), "modules",
		j, "-q", "--lang-exclude=rust", "--base=" + t.index, "-o", t.output(), "@" + list}}
}

// compareSample measures the sample with pahole and our ways, and all modules with ours.
func (t *tree) compareSample() error {
	pahole := strings.Join(t.pahole(1, "--btf_base="+t.base).Argv, " ")
	one := strings.Join(t.btfgen(1, "--base="+t.index).Argv, " ")
	commands := []measure.Command{
		t.each("pahole -J -j1, a process a module", pahole),
		t.each("btfgen elf -j1, a process a module", one),
	}
	for _, j := range t.jobs {
		commands = append(commands, t.batch(j, t.sampleList))
	}
	series, err := t.measure(t.runs, commands...)
	if err != nil {
		return err
	}
	var whole []measure.Command
	for _, j := range t.jobs {
		whole = append(whole, t.batch(j, t.allList))
	}
	allSeries, err := t.measure(min(t.runs, 3), whole...)
	if err != nil {
		return err
	}
	t.heading(fmt.Sprintf("%d modules of %s, pahole on %d of them", len(t.all), t.result.name,
		len(t.sample)))
	fmt.Fprintln(t.out, "| command | modules | wall: median | user + sys | for each module "+
		"| relative | peak memory |")
	fmt.Fprintln(t.out, "|---|--:|--:|--:|--:|--:|--:|")
	theirs := series[0].CPU().Seconds() / float64(len(t.sample))
	row := func(s measure.Series, modules int) {
		median, _, _ := s.Wall()
		ours := s.CPU().Seconds() / float64(modules)
		fmt.Fprintf(t.out, "| %s | %d | %s | %s | %.1f ms | %s | %d MB |\n", s.Command.Name, modules,
			rounded(median), rounded(s.CPU()), 1000*ours, fraction(theirs/ours), s.Peak()>>20)
	}
	for _, s := range series {
		row(s, len(t.sample))
	}
	t.result.cpu = []moduleCost{
		{"pahole", theirs},
		{"btfgen elf, a process each", series[1].CPU().Seconds() / float64(len(t.sample))},
		{"btfdedup modules", allSeries[0].CPU().Seconds() / float64(len(t.all))},
	}
	for _, s := range allSeries {
		row(s, len(t.all))
	}
	return nil
}

// everything measures one command for vmlinux and all modules, from DWARF to embedded files. The
// files are a distribution's: the ids in them are of the BTF that vmlinux was shipped with.
func (t *tree) everything() error {
	out := filepath.Join(t.dir, "embedded")
	argv := []string{t.tool("btfdedup"), "modules", "-j2", "-q", "--lang-exclude=rust",
		"--vmlinux=" + t.vmlinux, "--old-base=" + t.vmlinux, "-o", t.output(), "--embed", out,
		t.modulesDir}
	series, err := t.measure(1,
		measure.Command{Name: "btfdedup modules --vmlinux --embed", Argv: argv})
	if err != nil {
		return err
	}
	t.heading("vmlinux and all modules, from DWARF to embedded files, in one command")
	tableHead(t.out)
	tableRow(t.out, series[0], series[0])
	return os.RemoveAll(out)
}
