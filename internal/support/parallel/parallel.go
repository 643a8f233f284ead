// Package parallel runs the parts of a step on several threads. A panic in a goroutine would end
// the process, whatever its caller recovers; here it becomes a panic of the caller that waits.
//
//	parallel.Do(jobs, len(files), func(i int) { blobs[i], errs[i] = btf.ReadOne(files[i], base) })
package parallel

import (
	"fmt"
	"sync/atomic"
)

// Do calls do for each part from 0 on, with so many threads. It returns when all parts are done. If
// one panics, so does Do.
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

// Each calls do for each of the things with these names, on up to jobs threads, and returns their
// errors. A panic becomes the error of that thing alone. But a read of a truncated file ends all,
// because its content may be part of any result. progress is called after each.
func Each(jobs int, names []string, do func(i int) error, progress func(done, all int)) []error {
	errs := make([]error, len(names))
	var done atomic.Int64
	Do(jobs, len(names), func(i int) {
		errs[i] = try(names[i], func() error { return do(i) })
		progress(int(done.Add(1)), len(names))
	})
	return errs
}

// try returns do's error, or its panic as one.
func try(name string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p := Recovered(r)
			if p.Truncated() != nil {
				panic(p)
			}
			err = fmt.Errorf("%s: %w", name, p.Internal())
		}
	}()
	return do()
}

// All calls the functions, with so many threads.
func All(jobs int, steps ...func()) { Do(jobs, len(steps), func(i int) { steps[i]() }) }
