package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// tally counts what a batch of modules has made, to report how far the batch got.
type tally struct {
	modules              int // all of them
	ofVmlinux, ofModules report.Made
	complete             atomic.Int64 // modules whose files are written
	diskFull             atomic.Bool
}

// errNotTried is the error of the modules that are left when the disk is full.
var errNotTried = errors.New("not tried")

// add calls the function do, which makes the files of one module, unless the disk is full. Several
// threads may call add.
func (t *tally) add(do func() error) error {
	if t.diskFull.Load() {
		return errNotTried
	}
	err := do()
	switch {
	case err == nil:
		t.complete.Add(1)
	case cli.DiskFull(err):
		t.diskFull.Store(true)
	}
	return err
}

// made says what the batch made in the directory dir, or "" for nothing.
func (t *tally) made(dir string) string {
	text := message.Count(t.modules, "module") + " in " + dir
	if n := t.ofModules.BTF.Files; n < t.modules {
		text = fmt.Sprintf("%d of %s", n, text)
	}
	if t.ofVmlinux.BTF.Files > 0 {
		return "vmlinux and " + text
	}
	if t.ofModules.BTF.Files == 0 {
		return ""
	}
	return text
}

// sofar says how many modules are complete.
// Rule: progress: how far a batch got, after a signal or on a full disk.
func (t *tally) sofar() string {
	return fmt.Sprintf("%d of %s are complete", t.complete.Load(), message.Count(t.modules, "module"))
}

// explain adds to an error about a full disk how far the batch got.
func (t *tally) explain(err error) error {
	if !cli.DiskFull(err) {
		return err
	}
	return fmt.Errorf("%w; %s: free some space, then run the same command again", err, t.sofar())
}

// printErrors prints the errors of modules, except the last one, which it returns. An error about a
// full disk is the last one; other errors about the full disk are left out.
func (t *tally) printErrors(env *cli.Env, errs []error) error {
	var full error
	errs = slices.DeleteFunc(errs, func(err error) bool {
		if cli.DiskFull(err) {
			full = cmp.Or(full, err)
		}
		return err == nil || err == errNotTried || cli.DiskFull(err)
	})
	switch {
	case full != nil:
		errs = append(errs, t.explain(full))
	case len(errs) > 1:
		errs = append(errs, fmt.Errorf("%d of %d modules failed", len(errs), t.modules))
	}
	for i, err := range errs {
		if i == len(errs)-1 {
			return err
		}
		env.Error(err)
	}
	return nil
}
