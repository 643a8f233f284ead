package shipped

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Result is the verdict on a module.
type Result struct {
	Label  string // the module's file, for messages
	Path   string // the path in a directory or package
	Kernel string // the release of the kernel for which the module is; "" if it is unknown
	loader.Verdict
}

// maxUnsettled is how many files are collected before settle is called.
const maxUnsettled = 512

// settle waits for the files that were added, and judges the modules whose kernel is certain: one
// with the same release was found. So only other modules must be kept until all inputs are read.
// settle is called after fixed numbers of files, so the result doesn't depend on the threads.
func (c *collector) settle() {
	c.unsettled = 0
	c.inFlight.Wait()
	slices.SortFunc(c.kernels, byLabel)
	kernels := map[string]*loader.Kernel{}
	for _, k := range slices.Backward(c.kernels) {
		kernels[k.Release] = k.Kernel
	}
	delete(kernels, "")
	c.judge(func(m *loader.Module) *loader.Kernel { return kernels[m.Release()] })
}

// judge finds out what happens to the waiting modules for which kernelOf returns a kernel. The
// other modules keep waiting.
func (c *collector) judge(kernelOf func(m *loader.Module) *loader.Kernel) {
	var modules, waiting []*loader.Module
	for _, m := range c.waiting {
		if kernelOf(m) != nil {
			modules = append(modules, m)
		} else {
			waiting = append(waiting, m)
		}
	}
	c.waiting = waiting
	results := make([]Result, len(modules))
	parallel.Do(c.opts.Jobs, len(modules), func(i int) {
		m, k := modules[i], kernelOf(modules[i])
		results[i] = Result{m.Label, m.Path, k.Release, k.Load(m)}
	})
	c.found.Modules = append(c.found.Modules, results...)
}

// judgeRest judges the modules that are still waiting, when all kernels are known.
func (c *collector) judgeRest() {
	c.judge(c.found.kernelOf)
	for _, m := range c.waiting {
		c.found.Modules = append(c.found.Modules, Result{m.Label, m.Path, "", loader.Verdict{
			Outcome: loader.Refused, Why: "none of the kernels has the release for which it was built, " +
				cmp.Or(m.Release(), "which is unknown")}})
	}
	slices.SortFunc(c.found.Modules, func(a, b Result) int { return cmp.Compare(a.Label, b.Label) })
}
