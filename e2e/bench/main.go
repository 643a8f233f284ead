// Command bench compares btfgen and btfdedup with pahole, prints Markdown tables and draws them.
//
//	bench [--runs N] [--jobs 2,1] [--parts LIST] [--module KO]… [--object O|DIR] [--tree DIR]…
//	      [--plots DIR] [--patience TIME] [--tools DIR] VMLINUX
//
// In each comparison both programs do the same work: read DWARF, write the BTF to a file of its
// own. pahole must be on PATH; ./run starts this program where it is.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// paholeFeatures is the --btf_features that Linux 7.2 passes to pahole (scripts/Makefile.btf).
const paholeFeatures = "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func," +
	"consistent_func,decl_tag_kfuncs"

// part is one of the measurements, by the name that --parts takes.
type part struct {
	name string
	run  func(*bench) error
}

var parts = []part{
	{"kernel", (*bench).kernel},
	{"module", (*bench).allModules},
	{"object", (*bench).anObject},
	{"link", (*bench).mergeAndLink},
	{"tree", (*bench).tree},
}

// bench is one run of the program.
type bench struct {
	out      io.Writer
	dir      string // for temporary files
	tools    string // where btfgen and btfdedup are
	vmlinux  string
	modules  []string
	object   string
	treeDirs []string // of modules
	sample   int      // how many of them pahole gets
	jobs     []int
	runs     int
	patience *measure.Patience

	base string // the kernel's BTF, once makeBase has made it
	results
	measured  int // runs
	disturbed int // of them
}

// results are what is drawn.
type results struct {
	contests []contest // all comparisons so far
	trees    []treeResult
}

func main() {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	b := &bench{out: os.Stdout}
	pflag.IntVar(&b.runs, "runs", 5, "measured runs of each command")
	pflag.IntSliceVar(&b.jobs, "jobs", []int{2, 1}, "numbers of threads")
	pflag.StringVar(&b.tools, "tools", ".", "the directory of the btfgen and btfdedup to measure")
	pflag.StringArrayVar(&b.modules, "module", nil, "a module of the kernel; repeat for more")
	pflag.StringVar(&b.object, "object", "",
		"an object file, or a directory with those of a kernel, of which the one is taken "+
			"whose .debug_info is nearest to 200 KB")
	pflag.StringArrayVar(&b.treeDirs, "tree", nil,
		"a directory with the modules of the kernel, or of another one whose vmlinux is in it or "+
			"beside it; repeat for more")
	pflag.IntVar(&b.sample, "sample", 100, "how many modules of --tree pahole converts")
	wanted := pflag.StringSlice("parts", names, "what to measure")
	plots := pflag.String("plots", "", "a directory for drawings")
	patience := pflag.Duration("patience", 0,
		"how long to wait, all in all, to repeat runs that other processes disturbed")
	pflag.Parse()
	unknown := slices.ContainsFunc(*wanted, func(s string) bool { return !slices.Contains(names, s) })
	if pflag.NArg() != 1 || b.runs < 1 || unknown {
		fmt.Fprintf(os.Stderr, "usage: bench [FLAGS] VMLINUX\n--parts: %s\n%s", strings.Join(names, ","),
			pflag.CommandLine.FlagUsages())
		os.Exit(2)
	}
	b.vmlinux = pflag.Arg(0)
	b.patience = &measure.Patience{Left: *patience}
	if err := b.run(*wanted, *plots); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the wanted parts and reports.
func (b *bench) run(wanted []string, plots string) error {
	var err error
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.describe(); err != nil {
		return err
	}
	for _, p := range parts {
		if slices.Contains(wanted, p.name) {
			if err := p.run(b); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	fmt.Fprintf(b.out, "\n%d runs of each command, in turn, after one that is not counted. "+
		"Other processes disturbed %d of %d runs.\n", b.runs, b.disturbed, b.measured)
	if plots != "" {
		return b.draw(plots)
	}
	return nil
}

// contest is the comparison of pahole's runs with ours on one input.
type contest struct {
	name         string
	pahole, ours measure.Series
}

// measure runs commands in turn, each runs times. They write to b.output().
func (b *bench) measure(runs int, commands ...measure.Command) ([]measure.Series, error) {
	series, err := measure.Alternate(runs, commands, func() error {
		if err := os.RemoveAll(b.output()); err != nil {
			return err
		}
		return nil
	}, b.patience)
	for _, s := range series {
		b.measured += len(s.Runs)
		b.disturbed += s.Disturbed()
	}
	return series, err
}

// compare measures pahole and one of ours and keeps the result under name.
func (b *bench) compare(name string, runs int, pahole, ours measure.Command) (contest, error) {
	series, err := b.measure(runs, pahole, ours)
	if err != nil {
		return contest{}, err
	}
	c := contest{name, series[0], series[1]}
	b.contests = append(b.contests, c)
	return c, nil
}

// output is the file that measured commands write.
func (b *bench) output() string { return filepath.Join(b.dir, "out") }

func (b *bench) tool(name string) string { return filepath.Join(b.tools, name) }

// prepare runs one of our tools without measuring it.
func (b *bench) prepare(argv ...string) error {
	_, err := measure.Once(measure.Command{Argv: argv})
	return err
}

// rounded writes a duration with three significant digits.
func rounded(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
}
