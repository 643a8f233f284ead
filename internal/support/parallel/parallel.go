// Package parallel runs the parts of a step on several threads. Usually, a panic in a goroutine
// ends the process, even if the function that started the goroutine recovers. Here, the function
// that waits panics instead.
//
//	parallel.Do(jobs, len(files), func(i int) { blobs[i], errs[i] = btf.ReadOne(files[i], base) })
package parallel

import (
	"fmt"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
)

// Do calls the function do for each part, counted from 0, on up to jobs threads. It returns when
// all parts are done. If a call of do panics, so does Do.
// Rule: -j. Source: pahole pahole.c -j.
func Do(jobs, parts int, do func(part int)) {
	jobs = min(jobs, parts)
	if jobs <= 1 {
		for i := range parts {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var group Group
	work := func() {
		for i := next.Add(1); i <= int64(parts); i = next.Add(1) {
			do(int(i - 1))
		}
	}
	for range jobs {
		group.Go(work)
	}
	group.Wait()
}

// Each calls the function do for the index of each name, on up to jobs threads, and returns the
// errors. If a call panics, the panic becomes the error of that call only. But if a mapped file was
// truncated, Each panics at the end, because wrong content may be part of any result. progress is
// called after each call.
// Rule: panics: only that module or input fails.
func Each(jobs int, names []string, do func(i int) error, progress func(done, all int)) []error {
	errs := make([]error, len(names))
	var done atomic.Int64
	Do(jobs, len(names), func(i int) {
		errs[i] = try(names[i], func() error { return do(i) })
		progress(int(done.Add(1)), len(names))
	})
	if err := mapped.Check(); err != nil {
		panic(err)
	}
	return errs
}

// try calls the function do and returns its error. If do panics, try returns the panic as an error.
func try(name string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w", name, Recovered(r).Internal())
		}
	}()
	return do()
}

// All runs the functions, on up to jobs threads.
func All(jobs int, steps ...func()) { Do(jobs, len(steps), func(i int) { steps[i]() }) }
