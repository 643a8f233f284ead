package report

import (
	"fmt"
	"slices"
	"time"
)

// Phase is a part of a run. Phases may overlap.
type Phase struct {
	run       *Run
	name      string
	unit      string // what is counted, such as "units"
	start     time.Time
	spent     time.Duration // set when the phase ends
	done, all int
	step      string // the step that runs; "" if there are no steps
}

// Phase begins a phase. The parameter unit names what Progress counts, in the plural.
// Rule: progress, --verbose.
func (r *Run) Phase(name, unit string) *Phase {
	p := &Phase{run: r, name: name, unit: unit, start: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = append(r.open, p)
	return p
}

// Progress records how much is done. Several threads may call Progress, in any order.
func (p *Phase) Progress(done, all int) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.done, p.all = max(p.done, done), all
}

// Step begins a step of the phase, and ends the previous one.
func (p *Phase) Step(name string) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.step = name
}

// stop ends the phase, before its results are counted.
func (p *Phase) stop() {
	spent := time.Since(p.start)
	r := p.run
	r.mu.Lock()
	defer r.mu.Unlock()
	p.spent = spent
	r.open = slices.DeleteFunc(r.open, func(q *Phase) bool { return q == p })
}

// record prints the text about the result of a phase that has ended.
func (p *Phase) record(what string) {
	p.run.tell("%s: %s, %.2f s", p.name, what, p.spent.Seconds())
}

// progress describes the progress of the phase. The caller holds the lock of the run.
func (p *Phase) progress(now time.Time) string {
	text := p.name
	if p.step != "" {
		text += ", " + p.step
	}
	if p.all == 0 {
		return text
	}
	rate := float64(p.done) / max(now.Sub(p.start).Seconds(), 1e-3)
	return fmt.Sprintf("%s %d of %d %s, %.0f/s", text, p.done, p.all, p.unit, rate)
}
