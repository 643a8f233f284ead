package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/kernel/shipped"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// shippedReport is what verify prints with --format=json about kernels and modules.
type shippedReport struct {
	Schema  int             `json:"schema"`
	Valid   bool            `json:"valid"` // every module is as its builder wants it
	Kernels []shippedKernel `json:"kernels"`
	Modules []shippedModule `json:"modules"`
	Summary shippedSummary  `json:"summary"`
}

type shippedKernel struct {
	File    string `json:"file"`
	Release string `json:"release"` // "" if it is unknown
}

type shippedModule struct {
	File    string `json:"file"`
	Path    string `json:"path"`    // in the directory or package
	Kernel  string `json:"kernel"`  // its release
	Outcome string `json:"outcome"` // one of loader.Outcomes
	Why     string `json:"why"`
	Guessed bool   `json:"guessed"` // the kernel may instead load it without BTF
}

// shippedSummary has the number of modules with each outcome.
type shippedSummary struct {
	Modules    int `json:"modules"`
	Loads      int `json:"loads"`
	WithoutBTF int `json:"loads_without_btf"`
	WrongBTF   int `json:"loads_with_wrong_btf"`
	Refused    int `json:"refused"`
}

func (s *shippedSummary) add(o loader.Outcome) {
	s.Modules++
	*map[loader.Outcome]*int{loader.Loads: &s.Loads, loader.WithoutBTF: &s.WithoutBTF,
		loader.WrongBTF: &s.WrongBTF, loader.Refused: &s.Refused}[o]++
}

// shippedGC is how much the heap may grow, in percent, before garbage is collected. The heap
// consists of few large pieces without pointers, so collecting it takes hardly any time.
const shippedGC = 25

// checkShipped prints what happens to each module when its kernel loads it.
func (r *verifyRun) checkShipped(env *cli.Env, files []string) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(shippedGC)
	}
	for i, file := range files {
		for _, other := range files[:i] {
			warnSame(env, other, file)
		}
	}
	opts := shipped.Options{Jobs: env.Jobs, MaxDecompressed: r.maxDecompressed}
	found, err := shipped.Find(files, opts)
	if err != nil {
		return err
	}
	if n := len(found.Links); n > 0 {
		env.Warn("%s: not checked, because it is a link%s", found.Links[0], andMore(n-1))
	}
	if len(found.Modules) == 0 {
		return fmt.Errorf("%s: no modules (*.ko); to check only a kernel's BTF, extract it first, with "+
			"btfdedup import", files[0])
	}
	for _, k := range found.Kernels {
		if cut := k.CutEnums(); cut != "" {
			env.Warn("%s: %s", k.Label, cut)
		}
	}
	results := found.Modules
	guessed := 0
	for _, x := range results {
		if x.Guessed {
			guessed++
		}
	}
	if guessed > 0 {
		env.Warn("it isn't known whether the kernel was built with CONFIG_MODULE_ALLOW_BTF_MISMATCH; if "+
			"so, it loads %s without BTF; the kernel's image says it, except for Linux 5.18 to 6.2",
			message.Count(guessed, "refused module"))
	}
	report := newShippedReport(found, results)
	if err := report.write(env.Stdout, r.format, results); err != nil {
		return err
	}
	if !report.Valid {
		return cli.ErrNo
	}
	return nil
}

func newShippedReport(found *shipped.Found, results []shipped.Result) *shippedReport {
	report := &shippedReport{Schema: reportSchema, Valid: true, Kernels: []shippedKernel{},
		Modules: []shippedModule{}}
	for _, k := range found.Kernels {
		report.Kernels = append(report.Kernels, shippedKernel{k.Label, k.Release})
	}
	for _, x := range results {
		report.Modules = append(report.Modules,
			shippedModule{x.Label, x.Path, x.Kernel, x.Outcome.String(), x.Why, x.Guessed})
		report.Summary.add(x.Outcome)
		report.Valid = report.Valid && x.OK()
	}
	return report
}

func (r *shippedReport) write(to io.Writer, format string, results []shipped.Result) error {
	if format == "json" {
		return writeJSON(to, r)
	}
	w := bufio.NewWriter(to)
	paths := map[string]int{}
	for _, x := range results {
		paths[x.Path]++
	}
	// The modules that the reader looks for come last, next to the summary.
	for outcome := range loader.Outcomes {
		for _, x := range results {
			if int(x.Outcome) != outcome {
				continue
			}
			name := x.Path
			if paths[name] > 1 { // in several packages
				name = x.Label
			}
			line := x.Outcome.String() + ": " + name
			if x.Why != "" {
				line += ": " + x.Why
			}
			fmt.Fprintln(w, message.Printable(line))
		}
	}
	s := r.Summary
	fmt.Fprintf(w, "%s: %d load, %d load without BTF, %d load with wrong BTF, %d refused\n",
		message.Count(s.Modules, "module"), s.Loads, s.WithoutBTF, s.WrongBTF, s.Refused)
	return w.Flush()
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}
