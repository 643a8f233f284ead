package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/e2e/scale"
)

// The kernel of the report: x86's allmodconfig.
const (
	kernelObjects = 30000
	kernelModules = 8000
)

// The flag of the rules for both grains, and its default.
const (
	grainFlag    = "--@rules_btf//rules/settings:grain"
	defaultGrain = 16
)

// executors are the numbers of the tables and the drawings.
var executors = []int{1, 2, 8, 32, 100, 320, 1000}

// reporting is one run of "scale report".
type reporting struct {
	model      string
	doc, plots string
	grain      scale.Grain
	on         scale.Executors // all but their number

	measured *scale.Model
	kernel   *scale.Kernel
	build    *scale.Build
	text     bytes.Buffer
}

func reportCommand(flags *pflag.FlagSet) func() error {
	r := &reporting{}
	flags.StringVar(&r.model, "model", "e2e/scale/model.json", "the model that measure has written")
	flags.StringVar(&r.doc, "doc", "", "the document whose tables are replaced; else they are printed")
	flags.StringVar(&r.plots, "plots", "", "a directory for drawings")
	flags.IntVar(&r.grain.Objects, "grain", defaultGrain, "how many object files a BtfGen takes")
	flags.IntVar(&r.grain.Modules, "module-grain", defaultGrain, "how many modules a BtfModules takes")
	flags.Float64Var(&r.on.Overhead, "overhead", 0.05, "assumed seconds of an action beside its work")
	flags.Float64Var(&r.on.Client, "client", 0.001, "assumed seconds of Bazel itself for an action")
	flags.Float64Var(&r.on.Bandwidth, "bandwidth", 125e6, "assumed bytes a second of an executor")
	return r.run
}

func (r *reporting) run() error {
	data, err := os.ReadFile(r.model)
	if err != nil {
		return err
	}
	if r.measured, err = scale.ParseModel(data); err != nil {
		return fmt.Errorf("%s: %w", r.model, err)
	}
	if r.grain.Objects < 1 || r.grain.Modules < 1 {
		return fmt.Errorf("an action takes at least one file: %+v", r.grain)
	}
	r.kernel = scale.AllModConfig(r.measured, kernelObjects, kernelModules)
	r.build = scale.NewBuild(r.measured, r.kernel, r.grain)
	r.costs()
	r.walls()
	r.work()
	r.grains()
	if r.plots != "" {
		path := filepath.Join(r.plots, "scale.svg")
		if err := os.WriteFile(path, r.draw(), 0o666); err != nil {
			return err
		}
	}
	if r.doc == "" {
		_, err := os.Stdout.Write(r.text.Bytes())
		return err
	}
	return r.replace()
}

// The lines of the document between which the tables are.
const (
	beginTables = "<!-- What follows is written by e2e/scale/run report. -->\n"
	endTables   = "<!-- End of what is written. -->\n"
)

// replace puts the tables into the document.
func (r *reporting) replace() error {
	old, err := os.ReadFile(r.doc)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), beginTables)
	_, after, ok2 := strings.Cut(rest, endTables)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q", r.doc, beginTables, endTables)
	}
	return os.WriteFile(r.doc, []byte(before+beginTables+"\n"+strings.TrimSpace(r.text.String())+
		"\n\n"+endTables+after), 0o666)
}

func (r *reporting) printf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

// costs is the table of what was measured.
func (r *reporting) costs() {
	r.printf("Measured on one core of %s:\n\n", r.measured.Machine)
	r.printf("| action | samples | CPU ms | + ms per MB read | + ms per file | memory MB |" +
		" + MB per MB | median error | error of the sum |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range scale.Names {
		c := r.measured.Costs[name]
		r.printf("| `%s` | %d | %.1f | %.2f | %.2f | %.0f | %.2f | %.0f%% | %+.0f%% |\n", name, c.Samples,
			c.CPU.Base*1e3, c.CPU.PerMB*1e3, c.CPU.PerInput*1e3, c.Memory.Base/1e6, c.Memory.PerMB/1e6,
			c.Median*100, c.Sum*100)
	}
	var bytes int64
	for _, o := range r.kernel.Objects {
		bytes += o.Bytes
	}
	for i := range r.kernel.Modules {
		bytes += r.kernel.Modules[i].Bytes
	}
	r.printf("\nThe kernel: %d object files (%d of vmlinux), %d modules, %.1f GB; "+
		"vmlinux has %.1f GB.\n",
		r.kernel.Count(), len(r.kernel.Objects), len(r.kernel.Modules), float64(bytes)/1e9,
		float64(r.kernel.Vmlinux)/1e9)
}

// at simulates an edit.
func (r *reporting) at(e *scale.Edit, n int) scale.Result {
	on := r.on
	on.Count = n
	return r.build.After(e, on)
}

// onOne simulates an edit on one machine with n cores, where nothing is copied.
func (r *reporting) onOne(e *scale.Edit, n int) scale.Result {
	on := r.on
	on.Count, on.Bandwidth = n, 0
	return r.build.After(e, on)
}

// walls is the table of wall times by the number of executors.
func (r *reporting) walls() {
	r.printf("\nWall time of the BTF, by the number of executors; and on one machine with as many " +
		"cores:\n\n| edit | by |")
	for _, n := range executors {
		r.printf(" %d |", n)
	}
	r.printf("\n|---|---|%s\n", strings.Repeat("--:|", len(executors)))
	for i := range scale.Edits {
		e := &scale.Edits[i]
		ours, local, theirs := "", "", ""
		for _, n := range executors {
			ours += " " + seconds(r.at(e, n).Wall) + " |"
			local += " " + seconds(r.onOne(e, n).Wall) + " |"
			theirs += " " + seconds(e.KbuildResult(r.measured, r.kernel, n).Wall) + " |"
		}
		r.printf("| %s | rules_btf, executors |%s\n| | rules_btf, one machine |%s\n"+
			"| | Kbuild, one machine |%s\n", e.Name, ours, local, theirs)
	}
}

// work is the table of what doesn't depend on the number of executors, and of bytes.
func (r *reporting) work() {
	r.printf("\nThe work:\n\n| edit | by | actions | CPU | critical path | moved, 1 executor |" +
		" moved, 1000 | largest action |\n|---|---|--:|--:|--:|--:|--:|--:|\n")
	for i := range scale.Edits {
		e := &scale.Edits[i]
		one, many := r.at(e, 1), r.at(e, 1000)
		kbuild := e.KbuildResult(r.measured, r.kernel, 1000)
		r.printf("| %s | rules_btf | %d | %s | %s | %s | %s | %s |\n", e.Name, one.Actions,
			seconds(one.CPU), seconds(one.Critical), size10(float64(one.Moved)),
			size10(float64(many.Moved)), size10(one.Memory))
		r.printf("| | Kbuild | %d | %s | %s | – | – | %s |\n", kbuild.Actions,
			seconds(kbuild.CPU), seconds(kbuild.Critical), size10(kbuild.Memory))
	}
}

// grains is the table of how many files an action takes.
func (r *reporting) grains() {
	r.printf("\nA cold build and edits, by how many object files of vmlinux and how many modules " +
		"an\naction takes, and how long a cold build takes by the number of executors:\n\n" +
		"| object files | modules | actions | CPU |")
	counts := []int{1, 8, 32, 100, 1000}
	for _, n := range counts {
		r.printf(" cold, %d |", n)
	}
	edits := []string{"type in vmlinux", "a module"}
	for _, name := range edits {
		r.printf(" %s, 32 |", name)
	}
	r.printf("\n|--:|--:|--:|--:|%s\n", strings.Repeat("--:|", len(counts)+len(edits)))
	for _, most := range [][2]int{{1, 1}, {16, 1}, {16, 4}, {16, 8}, {1, 16}, {16, 16}, {64, 16},
		{16, 32}, {16, 64}} {
		grain := scale.Grain{Objects: most[0], Modules: most[1]}
		g := *r
		g.build = scale.NewBuild(r.measured, r.kernel, grain)
		cold := g.at(&scale.Edits[0], 1)
		r.printf("| %d | %d | %d | %s |", grain.Objects, grain.Modules, cold.Actions, seconds(cold.CPU))
		for _, n := range counts {
			r.printf(" %s |", seconds(g.at(&scale.Edits[0], n).Wall))
		}
		for i := range scale.Edits {
			if slices.Contains(edits, scale.Edits[i].Name) {
				r.printf(" %s |", seconds(g.at(&scale.Edits[i], 32).Wall))
			}
		}
		r.printf("\n")
	}
}

// seconds writes a time with two or three digits.
func seconds(s float64) string {
	switch {
	case s >= 6000:
		return fmt.Sprintf("%.1f h", s/3600)
	case s >= 100:
		return fmt.Sprintf("%.1f min", s/60)
	case s >= 10:
		return fmt.Sprintf("%.0f s", s)
	default:
		return fmt.Sprintf("%.2f s", s)
	}
}

// size10 writes a number of bytes.
func size10(n float64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.1f GB", n/1e9)
	}
	return fmt.Sprintf("%.0f MB", n/1e6)
}
