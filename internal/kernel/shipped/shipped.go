// Package shipped finds kernels and modules in what is shipped: directories such as
// /lib/modules/RELEASE, packages, and single files, compressed or not. Kernel and modules may be in
// different inputs.
//
//	shipped.go  reads the inputs, several at the same time
//	input.go    finds the files in one input
//	names.go    which of them are kernels and modules
//	collect.go  unpacks them on several threads, and keeps what package loader needs
//	pair.go     decides which kernel a module is for
//	judge.go    finds out what that kernel does with the module
//
// In a directory or package, names decide which files are read: *.ko for modules, vmlinuz*,
// vmlinux*, Image* and bzImage* for kernels. Files below a directory lib/debug are skipped, because
// the kernel never loads them. Links aren't followed: either they lead to a file that is read
// anyway, or to a file outside of the input.
package shipped

import (
	"cmp"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/format/packages"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Options says how Find works.
type Options struct {
	Jobs            int // threads
	MaxDecompressed int // bytes; see kernelimage.Unpack
}

// Found are the kernels and modules in the inputs, sorted by the paths of their files.
type Found struct {
	Kernels []*loader.Kernel
	Modules []Result
	Links   []string // modules that are links, and weren't checked
}

// Find reads all inputs, and finds out what kernels do with the modules. A module that can't be
// read isn't an error: Found has it, because no kernel can load it. An error names the file, and
// doesn't depend on the number of threads.
func Find(inputs []string, opts Options) (*Found, error) {
	pool := newPool(opts.Jobs)
	all := make([]*input, len(inputs))
	for i, name := range inputs {
		all[i] = &input{name: name, opts: opts, pool: pool, earlier: all[:i],
			done: make(chan struct{})}
	}
	err := readAll(all, opts.Jobs)
	pool.stop()
	if err != nil {
		return nil, err
	}
	return merge(all, opts.Jobs)
}

// readAll reads inputs, and returns the error of the first input that can't be read.
func readAll(all []*input, jobs int) error {
	errs := make([]error, len(all))
	var mu sync.Mutex
	failed := len(all) // the inputs after this one aren't needed
	parallel.Do(jobs, len(all), func(i int) {
		defer close(all[i].done)
		mu.Lock()
		skip := i > failed
		mu.Unlock()
		if skip {
			return
		}
		if errs[i] = all[i].readAll(); errs[i] != nil {
			mu.Lock()
			failed = min(failed, i)
			mu.Unlock()
		}
	})
	return cmp.Or(errs...)
}

// merge puts together what was found in all inputs.
func merge(all []*input, jobs int) (*Found, error) {
	found := &Found{}
	var kernels []kernel
	var wrong []problem
	var waiting []*loader.Module
	for _, in := range all {
		kernels = append(kernels, in.kernels...)
		wrong = append(wrong, in.wrong...)
		waiting = append(waiting, in.waiting...)
		found.Modules = append(found.Modules, in.judged...)
		found.Links = append(found.Links, in.links...)
	}
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b problem) int { return cmp.Compare(a.label, b.label) })
		return nil, wrong[0].err
	}
	slices.Sort(found.Links)
	if err := found.pickKernels(kernels); err != nil {
		return nil, err
	}
	found.judgeRest(waiting, jobs)
	return found, nil
}

// Is reports whether a path is a directory, or a file that only Find can read: a package, a
// kernel's image, a compressed file or a module.
func Is(name string) bool {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		return true
	case !info.Mode().IsRegular() || info.Size() == 0:
		return false
	case elf.IsModule(name):
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, min(info.Size(), kernelimage.HeadSize))
	_, err = io.ReadFull(f, head)
	return err == nil && (packages.Begins(head) || kernelimage.IsImage(head))
}
