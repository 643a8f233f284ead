// Package parallel runs the parts of a step on several threads.
package parallel

import "sync/atomic"

// Do calls do for each part from 0 on, with so many threads. It returns when all parts are done.
// A panic of one of them is one of the caller.
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

// DoAndCount is Do, and calls progress after each part, from any thread, with the number of parts
// that are done and of all.
func DoAndCount(jobs, parts int, do func(part int), progress func(done, all int)) {
	var done atomic.Int64
	Do(jobs, parts, func(part int) {
		do(part)
		progress(int(done.Add(1)), parts)
	})
}

// All calls the functions, with so many threads.
func All(jobs int, steps ...func()) { Do(jobs, len(steps), func(i int) { steps[i]() }) }
