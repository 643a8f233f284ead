package parallel

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

var (
	measuring atomic.Bool
	spared    atomic.Int64 // processor time, in ns
	alone     atomic.Int64 // the critical time in Alone.Do, in ns
)

// Measure turns the clocks on or off. They are useful only in a process that works on one thread.
func Measure(on bool) { measuring.Store(on) }

// Clocks returns the processor time that the process has used, and how much of that time would
// remain with any number of threads: of the parts that threads can share, only the longest counts.
func Clocks() (cpu, critical time.Duration) {
	if measuring.Load() {
		cpu = clock()
	}
	return cpu, cpu - time.Duration(spared.Load())
}

func criticalTime() time.Duration {
	_, critical := Clocks()
	return critical
}

var clock = func() time.Duration { // tests replace it
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A Series measures parts of work that one thread does one after another, but which several threads
// could share.
type Series struct{ start, from, longest, alone time.Duration }

// Begin begins a series.
func Begin() Series {
	now := criticalTime()
	return Series{start: now, from: now, alone: time.Duration(alone.Load())}
}

// Next ends a part of the series, and begins the next one.
func (s *Series) Next() {
	now := criticalTime()
	s.longest = max(s.longest, now-s.from)
	s.from = now
}

// End ends the series after its last part.
func (s *Series) End() {
	least := max(s.longest, time.Duration(alone.Load())-s.alone)
	spared.Add(int64(s.from - s.start - least))
}

// Alone is for work that only one part of a series may do at a time.
type Alone struct{ mu sync.Mutex }

// Do calls do while no other thread is in Do.
func (a *Alone) Do(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	from := criticalTime()
	do()
	alone.Add(int64(criticalTime() - from))
}
