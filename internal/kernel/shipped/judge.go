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

const (
	maxUnsettled = 512 // how many files are added before settle is called
	maxWaiting   = 512 // how many modules may wait while earlier inputs are still being read
)

// settle waits for the files that were added, and judges the modules whose kernel is certain,
// because this input has a kernel with the same release. So only the other modules are kept until
// all inputs have been read. settle is called after fixed numbers of files, so the result doesn't
// depend on the threads.
func (in *input) settle() {
	in.unsettled = 0
	in.inFlight.Wait()
	in.judgeFor(in.kernels)
}

// settleWithEarlier waits until all earlier inputs have been read, and judges the modules that are
// for a kernel in these inputs.
func (in *input) settleWithEarlier() {
	if len(in.waiting) == 0 {
		return
	}
	var kernels []kernel
	for _, e := range in.earlier {
		<-e.done
		kernels = append(kernels, e.kernels...)
	}
	in.judgeFor(kernels)
}

// judgeFor judges the waiting modules whose release is that of one of the kernels.
func (in *input) judgeFor(kernels []kernel) {
	of := map[string]*loader.Kernel{}
	for _, k := range slices.Backward(slices.SortedFunc(slices.Values(kernels), byLabel)) {
		of[k.Release] = k.Kernel
	}
	delete(of, "")
	results, waiting := judge(in.waiting, in.opts.Jobs,
		func(m *loader.Module) *loader.Kernel { return of[m.Release()] })
	in.judged, in.waiting = append(in.judged, results...), waiting
}

// judge finds out what a kernel does with each module for which kernelOf returns one. The other
// modules keep waiting.
func judge(all []*loader.Module, jobs int, kernelOf func(m *loader.Module) *loader.Kernel) (
	results []Result, waiting []*loader.Module) {
	var modules []*loader.Module
	for _, m := range all {
		if kernelOf(m) != nil {
			modules = append(modules, m)
		} else {
			waiting = append(waiting, m)
		}
	}
	results = make([]Result, len(modules))
	parallel.Do(jobs, len(modules), func(i int) {
		m, k := modules[i], kernelOf(modules[i])
		results[i] = Result{m.Label, m.Path, k.Release, k.Load(m)}
	})
	return results, waiting
}

// judgeRest judges the modules that are still waiting, when all kernels are known.
func (f *Found) judgeRest(waiting []*loader.Module, jobs int) {
	results, waiting := judge(waiting, jobs, f.kernelOf)
	f.Modules = append(f.Modules, results...)
	for _, m := range waiting {
		f.Modules = append(f.Modules, Result{m.Label, m.Path, "", loader.Verdict{
			Outcome: loader.Refused, Why: "none of the kernels has the release for which it was built, " +
				cmp.Or(m.Release(), "which is unknown")}})
	}
	slices.SortFunc(f.Modules, func(a, b Result) int { return cmp.Compare(a.Label, b.Label) })
}
