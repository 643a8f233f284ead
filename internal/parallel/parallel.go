// Package parallel runs the parts of a step on several threads.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Do calls do for each part from 0 on, with so many threads. It returns when all parts are done.
func Do(jobs, parts int, do func(part int)) {
	jobs = min(jobs, parts)
	if jobs <= 1 {
		for i := range parts {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	work := func() {
		for i := next.Add(1); i <= int64(parts); i = next.Add(1) {
			do(int(i - 1))
		}
	}
	for range jobs - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// All calls the functions, with so many threads.
func All(jobs int, steps ...func()) { Do(jobs, len(steps), func(i int) { steps[i]() }) }
