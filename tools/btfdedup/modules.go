package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/encode"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/report"
)

func modulesVerb() cli.Verb {
	return cli.Verb{
		Name:    "modules",
		Summary: "make the BTF of many modules in one go",
		Args:    "KO|DIR...",
		Long: `
Writes DIR/NAME.btf for each NAME.ko: what "btfgen elf --base" makes of it, to the byte. The base
is read once for all of them. Of a directory, all files *.ko below it are taken; with --order, those
that a modules.order of Kbuild lists, which names paths from the directory on.

A module that can't be converted is an error, and the others are written all the same; all errors
are listed at the end.

With --skipped-dir, D/NAME.skipped lists what of NAME.ko is not encoded.`,
		Examples: []string{
			"btfdedup modules --base vmlinux.btf -o btf kernel/*.ko",
			"# those of a kernel that Kbuild has built",
			"btfdedup modules --base vmlinux.btfbase -o btf --order linux/modules.order linux",
		},
		Flags: cli.Output | cli.Base | cli.Features | cli.Report,
		Setup: func(flags *cli.FlagSet) cli.Run {
			b := &batch{}
			b.conversion.Define(flags)
			flags.InputVar(&b.order, "order", "take only what this `FILE` lists, a modules.order")
			flags.StringVar(&b.skippedDir, "skipped-dir", "", "list what is not encoded in files in `DIR`")
			return b.run
		},
	}
}

// batch is one run of "btfdedup modules".
type batch struct {
	conversion encode.Flags
	skippedDir string
	order      string

	env   *cli.Env
	bases *base.Files
}

func (b *batch) run(env *cli.Env, args []string) error {
	b.env = env
	if len(env.Bases) == 0 {
		return cli.Usagef("--base=FILE is missing: the kernel's BTF, or an index of it")
	}
	files, err := findModules(args, b.order)
	if err != nil {
		return err
	}
	names, err := moduleNames(files)
	if err != nil {
		return err
	}
	run := report.Start(env, files)
	defer run.Close()
	if b.bases, err = base.Open(env.Bases); err != nil {
		return err
	}
	defer b.bases.Close()
	for _, dir := range []string{env.Output, b.skippedDir} {
		if dir != "" {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
		}
	}
	raiseHeap()
	phase := run.Phase("modules", "modules")
	errs := make([]error, len(files))
	var next, done, size atomic.Int64
	var wg sync.WaitGroup
	for range min(env.Jobs, len(files)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				n, err := b.module(files[i], names[i])
				size.Add(int64(n))
				errs[i] = err
				phase.Progress(int(done.Add(1)), len(files))
			}
		})
	}
	wg.Wait()
	run.EndModules(phase, len(files))
	if err := run.Finish(int(size.Load())); err != nil {
		return err
	}
	return b.listed(errs)
}

// module makes the BTF of one module. It returns its size in bytes.
func (b *batch) module(path, name string) (int, error) {
	result, err := b.conversion.File(b.env, path, b.bases)
	if err != nil {
		return 0, err
	}
	if b.skippedDir != "" {
		if err := b.env.WriteOutput(filepath.Join(b.skippedDir, name+".skipped"),
			func(w io.Writer) error { return link.WriteSkipped(w, result.Skipped) }); err != nil {
			return 0, err
		}
	}
	return len(result.BTF), b.env.WriteOutput(filepath.Join(b.env.Output, name+".btf"),
		func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(result.BTF)); return err })
}

// listed prints all but the last of the modules' errors, and returns that one.
func (b *batch) listed(errs []error) error {
	modules := len(errs)
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 1 {
		errs = append(errs, fmt.Errorf("%d of %d modules failed", len(errs), modules))
	}
	for i, err := range errs {
		if i == len(errs)-1 {
			return err
		}
		b.env.Error(err)
	}
	return nil
}

// heapFloor is how much the heap may hold before garbage is collected, in bytes. What a module
// needs is less than a tenth of it, and garbage in the next module.
const heapFloor = 64 << 20

// ballast is memory that is never touched: it takes no room, but the garbage collector counts it.
var ballast []byte

// raiseHeap lets the heap grow to heapFloor and as much again, unless the user says otherwise.
func raiseHeap() {
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, heapFloor)
	}
}
