package batch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Tally counts the files that are complete, to report how far a run got.
type Tally struct {
	Kernel bool // set when the kernel's files are written

	env      *cli.Env
	run      *report.Run
	modules  []File
	complete atomic.Int64 // modules whose files are written
	diskFull atomic.Bool
}

// Start begins to count the modules of a run.
func Start(env *cli.Env, run *report.Run, modules []File) *Tally {
	t := &Tally{env: env, run: run, modules: modules}
	run.OnInterrupt(t.sofar)
	return t
}

// errNotTried is the error of the modules that are left when the disk is full.
var errNotTried = errors.New("not tried")

// Each calls the function do for each module, on several threads. The function writes the files of
// a module. When the disk is full, it isn't called for the other modules. Then Each calls end,
// which ends the phase, and ends the run: it prints the errors of modules, except the last one,
// which it returns.
func (t *Tally) Each(progress func(done, all int), do func(m *File) error, end func()) error {
	paths := make([]string, len(t.modules))
	for i := range t.modules {
		paths[i] = t.modules[i].Path
	}
	errs := parallel.Each(t.env.Jobs, paths, func(i int) error {
		if t.diskFull.Load() {
			return errNotTried
		}
		err := do(&t.modules[i])
		switch {
		case err == nil:
			t.complete.Add(1)
		case cli.DiskFull(err):
			t.diskFull.Store(true)
		}
		return err
	}, progress)
	end()
	t.run.Made(t.made(t.env.Output))
	err := t.run.Finish()
	var doubts []string
	for i := range t.modules {
		if m := &t.modules[i]; m.Doubt != "" {
			doubts = append(doubts, m.Path+": "+m.Doubt)
		}
	}
	WarnOfBases(t.env, doubts, len(t.modules))
	failed := t.printErrors(errs)
	if failed == nil {
		return err
	}
	if err != nil && !t.diskFull.Load() {
		t.env.Error(err)
	}
	return failed
}

// Complete is the number of modules whose files are written.
func (t *Tally) Complete() int { return int(t.complete.Load()) }

// made says what the run made in the directory dir, or "" for nothing.
func (t *Tally) made(dir string) string {
	text := message.Count(len(t.modules), "module") + " in " + dir
	n := t.Complete()
	if n < len(t.modules) {
		text = fmt.Sprintf("%d of %s", n, text)
	}
	if t.Kernel {
		return "vmlinux and " + text
	}
	if n == 0 {
		return ""
	}
	return text
}

// sofar says how many modules are complete.
func (t *Tally) sofar() string {
	return fmt.Sprintf("%d of %s are complete", t.Complete(), message.Count(len(t.modules), "module"))
}

// Explain adds to an error about a full disk how far the run got.
func (t *Tally) Explain(err error) error {
	if !cli.DiskFull(err) {
		return err
	}
	return fmt.Errorf("%w; %s: free some space, then run the same command again", err, t.sofar())
}

// WarnOfBases prints one warning if modules may have the wrong base. The parameter doubts has the
// reason for each of these modules.
func WarnOfBases(env *cli.Env, doubts []string, modules int) {
	switch more := len(doubts) - 1; {
	case more < 0:
	case more == 0:
		env.Warn("%s", doubts[0])
	default:
		env.Warn("%s (and %s, of %d, may have the wrong base)", doubts[0],
			message.Count(more, "more module"), modules)
	}
}

// printErrors prints the errors of modules, except the last one, which it returns. If the disk is
// full, it returns the first error that says so, and doesn't print the others that do.
func (t *Tally) printErrors(errs []error) error {
	var full error
	errs = slices.DeleteFunc(errs, func(err error) bool {
		if cli.DiskFull(err) {
			full = cmp.Or(full, err)
		}
		return err == nil || err == errNotTried || cli.DiskFull(err)
	})
	switch {
	case full != nil:
		errs = append(errs, t.Explain(full))
	case len(errs) > 1:
		errs = append(errs, fmt.Errorf("%d of %d modules failed", len(errs), len(t.modules)))
	}
	for i, err := range errs {
		if i == len(errs)-1 {
			return err
		}
		t.env.Error(err)
	}
	return nil
}
